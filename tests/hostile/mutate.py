"""From a valid file to a hostile one, its digests right again.

Every function takes a `random.Random`, which decides everything, and the bytes of a file.
"""

import gzip
import io
import json
import struct
import zipfile
from hashlib import sha256

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from walkconv.persistence import KEY, _digest
from walkconv.walks.block_file import HEAD

NUMBERS = [0, 1, -1, 2, 3, 7, 255, 2**31 - 1, 2**31, 2**62, 2**63, -(2**63), 10**30, 10**400]
FLOATS = [0.0, -0.0, 0.5, 1e-300, 1e39, 1e308, float("nan"), float("inf"), -float("inf")]
TEXTS = ["", "a", "\x00", "\ud800", "é" * 50, "C1-" * 5000 + "C1", "C900000000", "P3-G", "O", "<U9"]
TEXTS += ["N3", "FC9", "P999999999-G", "auto", "direction", "meta", "os.system", "nan", "x" * 9999]
TYPES = ["<f4", "<f8", "<i8", "<i4", "|i1", "|b1", "<f2", "|u1"]


def mutate(draw, kind, content):
    """Return a hostile file made from a valid one."""
    if draw.random() < 0.15 and kind not in MADE_OF_JSON:
        return changed_bytes(draw, content)
    for _ in range(draw.choice([1, 1, 1, 2, 4])):
        try:
            content = MUTATORS[kind](draw, content)
        except (
            ValueError,
            TypeError,
            LookupError,
            MemoryError,
            OverflowError,
        ):  # too damaged to be changed by its parts
            content = changed_bytes(draw, content)
    return content


def changed_bytes(draw, content):
    """Flip, cut, insert, repeat or overwrite some bytes."""
    content = bytearray(content)
    for _ in range(draw.choice([1, 1, 2, 8])):
        place = draw.randrange(len(content) + 1)
        way = draw.randrange(6)
        if way == 0:
            content = content[:place]
        elif way == 1 and place < len(content):
            content[place] ^= 1 << draw.randrange(8)
        elif way == 2:
            content[place:place] = bytes(
                draw.randrange(256) for _ in range(draw.choice([1, 4, 99]))
            )
        elif way == 3:
            content[place:place] = content[place : place + draw.choice([1, 8, 400])]
        elif way == 4:
            del content[place : place + draw.choice([1, 8, 100])]
        else:
            size = draw.choice([1, 2, 4, 8])
            number = draw.choice(NUMBERS) % 256**size
            content[place : place + size] = number.to_bytes(size, "little")
    return bytes(content)


def odd_value(draw, depth=0):
    """Return any value that JSON can hold."""
    way = draw.randrange(9)
    if way < 3:
        return draw.choice(NUMBERS)
    if way == 3:
        return draw.choice(FLOATS)
    if way == 4:
        return draw.choice(TEXTS)
    if way == 5:
        return draw.choice([None, True, False])
    if depth > 2 or way == 6:
        return draw.choice([[], {}])
    if way == 7:
        return [odd_value(draw, depth + 1) for _ in range(draw.choice([1, 2, 6]))]
    return {draw.choice(TEXTS): odd_value(draw, depth + 1)}


def changed_json(draw, value):
    """Return a JSON value with one part at any depth changed, dropped or doubled."""
    if isinstance(value, dict) and value and draw.random() < 0.9:
        name = draw.choice(sorted(value))
        way = draw.random()
        if way < 0.1:
            return {k: v for k, v in value.items() if k != name}
        if way < 0.15:
            return {**value, draw.choice(TEXTS): value[name]}
        return {**value, name: changed_json(draw, value[name])}
    if isinstance(value, list) and value and draw.random() < 0.8:
        place = draw.randrange(len(value))
        way = draw.random()
        if way < 0.15:
            return value[:place] + value[place + 1 :]
        if way < 0.3:
            return value[: place + 1] + value[place:]
        return [*value[:place], changed_json(draw, value[place]), *value[place + 1 :]]
    if isinstance(value, int) and not isinstance(value, bool) and draw.random() < 0.5:
        return value + draw.choice([-1, 1, 2, 100])
    if isinstance(value, str) and value and draw.random() < 0.3:
        place = draw.randrange(len(value))
        return value[:place] + draw.choice(["", "-", "X", "9", "P2", "\n"]) + value[place + 1 :]
    return odd_value(draw)


def changed_array(draw, array):
    """Return an array of other values, another type or another shape."""
    array = np.array(array)
    way = draw.randrange(8)
    if way == 0:
        with np.errstate(all="ignore"):
            return array.astype(draw.choice(TYPES)) if array.dtype.kind in "biuf" else array
    if way == 1:
        return array[..., :-1] if array.ndim and array.size else array[None]
    if way == 2:
        return array[:-1] if array.ndim and array.size else array[None]
    if way == 3:
        empty = np.empty(draw.choice([(0, 2**31 - 1), (2**31 - 1, 0), (0,)]), array.dtype)
        return draw.choice([array.T, array[None], array.reshape(-1), empty])
    if way == 4:
        return np.concatenate([array, array]) if array.ndim else array[None]
    if not array.size or array.dtype.kind not in "iuf":
        return array
    flat = array.reshape(-1)
    for _ in range(draw.choice([1, 3, flat.size])):
        pool = FLOATS if array.dtype.kind == "f" else NUMBERS
        number = draw.choice(pool)
        if array.dtype.kind != "f":
            number = (number + 2**63) % 2**64 - 2**63
        with np.errstate(all="ignore"):
            flat[draw.randrange(flat.size)] = np.array(number).astype(array.dtype)
    return flat.reshape(array.shape)


def changed_arrays(draw, arrays):
    """Return named arrays with one changed, dropped or renamed."""
    name = draw.choice(sorted(arrays)) if arrays else "a"
    way = draw.random()
    if way < 0.15 or not arrays:
        return {k: v for k, v in arrays.items() if k != name}
    if way < 0.25:
        other = draw.choice(sorted(arrays))
        return {**arrays, name: arrays[other]}
    if way < 0.3:
        return {**arrays, f"{name}{draw.choice(['.x', '0', '.-1'])}": arrays[name]}
    return {**arrays, name: changed_array(draw, arrays[name])}


def safetensors_file(draw, content):
    """Change the header, the settings or an array, and sign the file again."""
    try:
        arrays = load(content)
        length = struct.unpack("<Q", content[:8])[0]
        header = json.loads(json.loads(content[8 : 8 + length])["__metadata__"][KEY])
        settings = json.loads(header["settings"])
    except (SafetensorError, ValueError, LookupError, TypeError, RecursionError, struct.error):
        return changed_bytes(draw, content)
    way = draw.random()
    if way < 0.5:
        settings = changed_json(draw, settings)
    elif way < 0.95:
        arrays = changed_arrays(draw, arrays)
    else:
        header = changed_json(draw, header)
    if isinstance(header, dict) and way < 0.95:
        header["settings"] = json.dumps(settings)
        if draw.random() < 0.01:
            header["settings"] = draw.choice(["[" * 10**5, "[" + "[]," * 10**5 + "1]", "", "{"])
        header["digest"] = _digest(arrays, header["settings"])
    return save({k: np.ascontiguousarray(v) for k, v in arrays.items()}, {KEY: json.dumps(header)})


def selection_file(draw, content):
    """Change the first line or a block, and sign the blocks again."""
    line, _, rest = content.partition(b"\n")
    blocks = []
    while len(rest) > HEAD.size:
        n_rows = HEAD.unpack(rest[: HEAD.size])[0]
        size = 8 * n_rows * 11
        if size > len(rest):
            break
        blocks.append((n_rows, rest[HEAD.size : HEAD.size + size]))
        rest = rest[HEAD.size + size :]
    if draw.random() < 0.2 or not blocks:
        try:
            line = json.dumps(changed_json(draw, json.loads(line))).encode()
        except (ValueError, RecursionError):
            return changed_bytes(draw, content)
    else:
        place = draw.randrange(len(blocks))
        n_rows, block = blocks[place]
        if draw.random() < 0.2:
            n_rows = draw.choice([0, 1, n_rows + 1, 2**40, 2**61, 2**64 - 1])
        else:
            kind = draw.choice(["<i8", "<f8"])
            with np.errstate(all="ignore"):
                block = changed_array(draw, np.frombuffer(block, kind)).astype(kind).tobytes()
        blocks[place] = n_rows, block
        if draw.random() < 0.2:
            draw.shuffle(blocks)
    key = sha256(line + b"\n").digest()
    signed = [HEAD.pack(n, sha256(key + block).digest()) + block for n, block in blocks]
    return line + b"\n" + b"".join(signed)


CELLS = ["", "NA", "nan", "inf", "1e999", "-0", "0x1F", "1_000", "1,5", '"', '"a\nb"', "é", "\x00"]
CELLS += [
    "true",
    "2024-01-01",
    "1" * 400,
    "-1",
    " 7 ",
    "9223372036854775808",
    "source",
    "a",
    "=1+1",
]


def text_table(draw, content):
    """Change a cell, a name, a line, the separators, the ends of lines or the encoding."""
    text = content.decode("utf-8", "replace")
    lines = text.split("\n")
    way = draw.randrange(9)
    place = draw.randrange(len(lines))
    separator = "\t" if "\t" in text else " " if "," not in text else ","
    cells = lines[place].split(separator)
    if way < 3:
        cells[draw.randrange(len(cells))] = draw.choice(CELLS)
        lines[place] = separator.join(cells)
    elif way == 3:
        lines[0] = separator.join([draw.choice([*cells, *CELLS])] * max(1, len(cells)))
    elif way == 4:
        lines[place : place + 1] = [lines[place]] * draw.choice([0, 2, 50])
    elif way == 5:
        text = draw.choice(["\r", "\r\n", ";", "\n\n"]).join(lines)
        return text.encode()
    elif way == 6:
        encoding = draw.choice(["utf-16", "latin-1", "utf-8-sig", "utf-32"])
        return text.encode(encoding, "replace")
    elif way == 7:
        lines[place] += separator + draw.choice(CELLS)
    else:
        return changed_bytes(draw, content)
    return "\n".join(lines).encode("utf-8", "replace")


def gzip_table(draw, content):
    """Change what is in a gzip, add to it or make it unpack to much more."""
    try:
        text = gzip.decompress(content)
    except (OSError, EOFError, ValueError, struct.error):
        return changed_bytes(draw, content)
    except Exception:
        return changed_bytes(draw, content)
    if draw.random() < 0.001:
        row, times = draw.choice([(b"1,2,3,4\n", 2**20), (b"1,2,3,4\n", 2**24), (b",,,\n", 2**21)])
        text = b"a,b,c,d\n" + row * times
    return gzip.compress(text_table(draw, text), mtime=0, compresslevel=1)


def matrix_market(draw, content):
    """Change the banner, the sizes or an entry."""
    lines = content.decode("utf-8", "replace").split("\n")
    place = (
        draw.randrange(min(3, len(lines))) if draw.random() < 0.6 else draw.randrange(len(lines))
    )
    words = lines[place].split(" ")
    spoiled = [str(n) for n in NUMBERS] + [str(f) for f in FLOATS] + CELLS
    spoiled += ["complex", "hermitian", "skew-symmetric", "integer", "array", "pattern", "vector"]
    words[draw.randrange(len(words))] = draw.choice(spoiled)
    lines[place] = " ".join(words)
    return "\n".join(lines).encode("utf-8", "replace")


def npz_file(draw, content):
    """Change an array or the header of one, and make the zip again."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            members = {name: file.read(name) for name in file.namelist()}
    except Exception:
        return changed_bytes(draw, content)
    if not members:
        return changed_bytes(draw, content)
    name = draw.choice(sorted(members))
    way = draw.random()
    try:
        with np.errstate(all="ignore"):
            array = np.load(io.BytesIO(members[name]), allow_pickle=False)
    except Exception:
        array, way = None, 0.6
    if way < 0.5:
        file = io.BytesIO()
        if array.dtype.kind in "SU":
            texts = [b"csr", b"csc", b"bsr", b"coo", b"dia", b"lil", "csr", b"", b"\xff", "X" * 99]
            array = np.array(draw.choice(texts))
        else:
            array = changed_array(draw, array)
        np.save(file, array)
        members[name] = file.getvalue()
    elif way < 0.75:
        members[name] = changed_bytes(draw, members[name][:128]) + members[name][128:]
        if draw.random() < 0.5:
            shape = tuple(draw.choice(NUMBERS[:13]) for _ in range(draw.choice([0, 1, 2, 3])))
            header = (
                f"{{'descr': '{draw.choice(TYPES)}', 'fortran_order': False, 'shape': {shape}}}"
            )
            header = header.ljust(117) + "\n"
            text = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
            members[name] = text + members[name][128:]
    elif way < 0.85:
        members.pop(name)
    elif way < 0.95:
        members[draw.choice(["X.npy", "data.npy", "indptr.npy", "y.npy", "a"])] = members[name]
    else:
        members[name] = members[name][:80]
    file = io.BytesIO()
    compression = draw.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
    with zipfile.ZipFile(file, "w", compression) as target:
        for each, part in members.items():
            target.writestr(each, part)
        if draw.random() < 0.0005:
            header = b"\x93NUMPY\x01\x00" + struct.pack("<H", 118)
            head = "{'descr': '<f8', 'fortran_order': False, 'shape': (33554432, 1)}"
            target.writestr("X.npy", header + (head.ljust(117) + "\n").encode() + bytes(2**28))
    return file.getvalue()


def json_file(draw, content):
    """Change one part of a JSON value."""
    try:
        return json.dumps(changed_json(draw, json.loads(content))).encode()
    except (ValueError, RecursionError):
        return changed_bytes(draw, content)


SIDES = [0, 1, 2, 3, 4, 5, 6, 7, 33, 129, 1000]


def operator_arguments(draw, content):
    """Change a shape, a type, a range or a list of the arguments of an operator."""
    given = json.loads(content)
    way = draw.random()
    name = draw.choice(sorted(name for name in given if name != "op"))
    value = given[name]
    if way < 0.15:
        kinds = ["float64", "float16", "bfloat16", "int32", "int64", "bool", "complex64"]
        given[f"{name.split()[0]} type"] = draw.choice(kinds)
    elif way < 0.25:
        given["highest"] = draw.choice([0, 1, 2, 5, 6, 7, 1000, 2**31, 2**62])
    elif way < 0.3:
        given["layout"] = draw.choice(["transposed", "strided", "expanded"])
    elif way < 0.35:
        given["bias"], given["scale"] = [given.get("weight", [1])[-1]], given.get("index")
    elif way < 0.4:
        given.pop(name)
    elif isinstance(value, list) and value and way < 0.95:
        place = draw.randrange(len(value))
        pool = SIDES if name not in ("start", "member") else [*NUMBERS[:11], 4, 5, 6]
        changed = draw.choice(
            [
                [*value[:place], draw.choice(pool), *value[place + 1 :]],
                [*value[:place], value[place] + draw.choice([-1, 1]), *value[place + 1 :]],
                value[:place] + value[place + 1 :],
                value[: place + 1] + value[place:],
            ]
        )
        given[name] = changed
        if draw.random() < 0.4:  # and the same where it has to agree
            was = value[place]
            for other in ("x", "index", "weight", "bias", "scale"):
                if (
                    other in given
                    and isinstance(given[other], list)
                    and name not in ("start", "member")
                ):
                    given[other] = [
                        draw.choice(changed or [1]) if n == was else n for n in given[other]
                    ]
    else:
        given = changed_json(draw, given)
    return json.dumps(given).encode()


def sparse_arrays(draw, content):
    """Change an entry, the length or the type of an array of a sparse matrix, or its shape."""
    given = json.loads(content)
    way = draw.random()
    if way < 0.1:
        return json.dumps(changed_json(draw, given)).encode()
    if way < 0.2:
        given["shape"] = [draw.choice(SIDES), draw.choice(SIDES)]
        return json.dumps(given).encode()
    if way < 0.25:
        given["index type"] = draw.choice(["int32", "int64", "uint8", "int16", "float64"])
        return json.dumps(given).encode()
    name = draw.choice([name for name in given if isinstance(given[name], list)])
    value = given[name]
    if not value:
        value = [0]
    place = draw.randrange(len(value))
    if way < 0.35:
        given[name] = value[:place] + value[place + 1 :]
    elif way < 0.45:
        given[name] = value[: place + 1] + value[place:]
    elif name == "data":
        given[name] = [*value[:place], _spoiled(draw, value[place]), *value[place + 1 :]]
    else:
        number = draw.choice([*NUMBERS[:11], 4, 5, 6])
        given[name] = [*value[:place], number, *value[place + 1 :]]
    return json.dumps(given).encode()


def _spoiled(draw, entry):
    """Return an entry, or a block of entries, with another number in it."""
    if isinstance(entry, list) and entry:
        return [_spoiled(draw, entry[0]), *entry[1:]]
    return draw.choice([*FLOATS, -1.0, 2.0, 1e20])


SCRIPT = "</script><script>alert(1)</script>"
COLUMN_TYPES = ["category", "datetime64[us]", "Int64", "string", "boolean", "float32", "object"]
COLUMN_TYPES += ["int64", "uint8", "timedelta64[us]", "complex128", "datetime64[us, UTC]"]
SETTINGS = {
    "architecture": ["", "FC3", "C2", "C2-P2-C2-FC2", "C2-N1", "P2", "C2-G"],
    "graph": ["knn", "heat_kernel", "supervised", None],
    "loss": ["huber", "absolute_error", ["cross_entropy", 0.1], ["quantile", 2], "poisson"],
    "scoring": ["r2", "accuracy", "neg_log_loss", "average_precision", "x"],
    "order": ["direction", "auto", "visits"],
    "standardize": ["relevance", False, True],
    "soft_clip": [None, 1e-30, 1e30],
    "class_weight": ["balanced", {"yes": 1e308, "no": 1}, {}],
    "early_stopping": [True, 1],
    "n_neighbors": [1, 2, 100],
    "batch_size": [2, 10**9],
    "precision": ["bfloat16"],
    "n_dims": [1, 2, 3],
    "conv_dropout": [0.9],
    "solver": ["rmsprop"],
}


def fit_of_a_table(draw, content):
    """Change a cell, a name, a type, a target, a weight, a setting or what is done after."""
    given = json.loads(content)
    columns, way = given["columns"], draw.random()
    name = draw.choice(sorted(columns))
    odd = [*CELLS, *FLOATS, *NUMBERS, None, True, SCRIPT, "\udcff", [1], {}]
    if way < 0.3:
        values = columns[name]
        n_cells = draw.choice([1, 1, 3, len(values)])
        value = draw.choice(odd)
        for _ in range(n_cells):
            values[draw.randrange(len(values))] = value
    elif way < 0.4:
        renamed = draw.choice([SCRIPT, *TEXTS, *CELLS])
        given["columns"] = {renamed if n == name else n: v for n, v in columns.items()}
    elif way < 0.5:
        given.setdefault("types", {})[name] = draw.choice(COLUMN_TYPES)
    elif way < 0.6 and "y" in given:
        given["y"][draw.randrange(len(given["y"]))] = draw.choice(odd)
    elif way < 0.65:
        given["weight"] = [draw.choice([0, 1, 1, 1e308, -1, "a"]) for _ in columns[name]]
    elif way < 0.85:
        setting = draw.choice(sorted(SETTINGS))
        given.setdefault("settings", {})[setting] = draw.choice(SETTINGS[setting])
    elif way < 0.95:
        given["do"] = draw.choice(["report", "onnx", "explain", "interval", "part", "images"])
    else:
        given = changed_json(draw, given)
    return json.dumps(given).encode()


def summary_of_a_model(draw, content):
    """Change a part of a summary, or put a script where text is."""
    summary = json.loads(content)
    if draw.random() < 0.3:
        place = summary
        while isinstance(place, dict | list) and place:
            key = draw.choice(sorted(place) if isinstance(place, dict) else range(len(place)))
            if not isinstance(place[key], dict | list) or not place[key]:
                place[key] = SCRIPT
                return json.dumps(summary).encode()
            place = place[key]
    return json.dumps(changed_json(draw, summary)).encode()


MUTATORS = {
    "model": safetensors_file,
    "fit checkpoint": safetensors_file,
    "selection checkpoint": selection_file,
    "damaged model": changed_bytes,
    "damaged fit checkpoint": changed_bytes,
    "damaged selection checkpoint": changed_bytes,
    "csv": text_table,
    "tsv": text_table,
    "tu": text_table,
    "parts csv": text_table,
    "parts csv.gz": gzip_table,
    "parts parquet": changed_bytes,
    "csv.gz": gzip_table,
    "txt": text_table,
    "mtx": matrix_market,
    "npz table": npz_file,
    "npz graph": npz_file,
    "parquet": changed_bytes,
    "operator": operator_arguments,
    "sparse": sparse_arrays,
    "stored table": changed_bytes,
    "fit": fit_of_a_table,
    "choosing fit": fit_of_a_table,
    "summary": summary_of_a_model,
    "comparison": json_file,
    "command": text_table,
}
"""What changes the valid files, by the kind of file."""
MADE_OF_JSON = ("operator", "sparse", "fit", "choosing fit", "summary")
"""Kinds that are no files to the library: their JSON must stay readable."""
