"""The dead-letter desk and what belongs to it: groups of letters, the trash, silenced findings, and
searches on all managers.
"""
