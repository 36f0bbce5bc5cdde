"""Messages from other managers, decided inside the commit that stores them: order, duplicates,
quotas, rejections and acknowledgements.
"""
