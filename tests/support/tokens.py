"""Entries of access.tokens_file, and the headers that send their tokens."""

import hashlib
import json


def entry(name, *scopes, **more):
    """Of the token `NAME-secret`."""
    return {"name": name, "sha256": hashlib.sha256(f"{name}-secret".encode()).hexdigest(), "scopes": list(scopes), **more}


def bearer(name):
    return {"Authorization": f"Bearer {name}-secret"}


def write_tokens(path, *entries):
    path.write_text(json.dumps({"tokens": list(entries)}))
    path.chmod(0o600)
    return path
