"""Selections of the collections (corpus/cases.json) as a server answers them: the bytes that were written."""

import hashlib
import urllib.parse

import small_floats


def stored_bytes(case, body):
    """Elements as the collection has them: those that NumPy lacks as they are stored."""
    is_small = str(case["dtype"]) in {*small_floats.FORMATS, *small_floats.COMPLEX}
    return small_floats.codes(case["dtype"], body) if is_small else body


def slice_target(dataset, case, selection, form="raw"):
    query = urllib.parse.urlencode({"slice": selection["slice"], "format": form})
    return f"/v1/datasets/{dataset}/slices/{urllib.parse.quote(case['node'])}?{query}"


def check_selection(server, dataset, case, selection, connection=None):
    """The answer, whose shape and bytes are those that were written."""
    answer = server.get(slice_target(dataset, case, selection), connection=connection)
    where = f"{case['store']}/{case['node']}[{selection['slice']}]"
    assert answer.status == 200, f"{where}: {answer}"
    assert answer.headers["zarr-shape"] == ",".join(str(n) for n in selection["shape"]), where
    body = stored_bytes(case, answer.body)
    assert len(body) == selection["nbytes"], where
    assert hashlib.sha256(body).hexdigest() == selection["sha256"], where
    return answer
