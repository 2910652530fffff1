"""Exports of other products, read into drafts: pure, one module for each product.

No shape is trusted. A row that cannot be read is skipped with its place and the reason; it never spoils the file.
"""
