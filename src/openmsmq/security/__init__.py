"""Security structures: access masks, identifiers, descriptors, keys and certificates."""
