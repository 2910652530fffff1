"""What turns a text into a vector: one small interface, an embedder behind it a module, and the choice among them."""

from memories.search.embedding.base import Embedder, EmbedderUnavailable, Vectors
from memories.search.embedding.choosing import active_embedder, lack_of
from memories.search.embedding.hashing import HashEmbedder

__all__ = ["Embedder", "EmbedderUnavailable", "HashEmbedder", "Vectors", "active_embedder", "lack_of"]
