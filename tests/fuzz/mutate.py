"""Small damage to valid files: flipped bits, cuts, splices, integers at the edge of their range."""

import io
import random
import re
import struct
import zipfile
import zlib

import numpy as np

BOUNDARIES = [0, 1, 2, 127, 128, 255, 256, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**53, 2**63 - 1, 2**64 - 1]
#: What may stand in the place of a number or a word of a text.
WORDS = [
    *(b"0 -1 1e308 -1e308 1e-320 nan inf 99999999999999999999 0x1f 1.2O null true NA".split()),
    *(b'[] {} "" \' , ; \xff \x00 \xf0\x9f\x98\x80 ../../x <b> \x1b[2J'.split(b" ")),
    b"",
    b"\n",
]


def mutated(rng: random.Random, content: bytes, other: bytes) -> bytes:
    """Return the content with one to three small changes."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        content = rng.choice(CHANGES)(rng, content, other)
    return content


def flip(rng, content, other):
    changed = bytearray(content or b"\x00")
    for _ in range(rng.choice((1, 1, 2, 8))):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def truncate(rng, content, other):
    return content[: rng.randrange(len(content) + 1)]


def remove(rng, content, other):
    start = rng.randrange(len(content) + 1)
    return content[:start] + content[start + rng.choice((1, 2, 4, 16, 100)) :]


def splice(rng, content, other):
    start, size = rng.randrange(len(other) + 1), rng.choice((1, 4, 16, 100, 1000))
    where = rng.randrange(len(content) + 1)
    return content[:where] + other[start : start + size] + content[where + rng.choice((0, size)) :]


def boundary(rng, content, other):
    size = rng.choice((1, 2, 4, 8))
    value = (rng.choice(BOUNDARIES) & (2 ** (8 * size) - 1)).to_bytes(size, rng.choice(("little", "big")))
    where = rng.randrange(max(len(content) - size, 0) + 1)
    return content[:where] + value + content[where + size :]


def word(rng, content, other):
    """Replace a number or a word."""
    found = list(re.finditer(rb"[-+.\w]+", content[:100_000]))
    if not found:
        return content
    match = rng.choice(found)
    return content[: match.start()] + rng.choice(WORDS) + content[match.end() :]


CHANGES = (flip, truncate, remove, splice, boundary, boundary, word, word)


def mutated_zip(rng: random.Random, content: bytes, other: bytes) -> bytes:
    """Damage the archive, or a member of it behind checksums that are right."""
    if rng.random() < 0.3:
        return mutated(rng, content, other)
    members = unzipped(content)
    name = rng.choice(list(members))
    if rng.random() < 0.1:
        del members[name]
    elif name.endswith(".npy") and rng.random() < 0.5:
        members[name] = other_array(rng, members[name])
    else:
        members[name] = mutated(rng, members[name], rng.choice(list(members.values())))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def other_array(rng: random.Random, content: bytes) -> bytes:
    """Return a valid array of another shape, of another type, or with other numbers in it."""
    array = np.load(io.BytesIO(content))
    kind = rng.choice(("shorter", "longer", "flat", "turned", "type", "number", "number", "number"))
    if kind == "shorter":
        array = array[: rng.randrange(len(array) + 1)] if array.ndim else array[None]
    elif kind == "longer":
        array = np.concatenate([np.atleast_1d(array)] * 2)
    elif kind == "flat":
        array = array.ravel()
    elif kind == "turned":
        array = array.T[None]
    elif kind == "type" and array.dtype.kind != "U":
        array = array.astype(rng.choice(("f4", ">f8", "i1", "i8", "u8", "c16", "U3", "?")), casting="unsafe")
    elif kind == "number" and array.size and array.dtype.kind in "iuf":
        array = np.array(array)
        edge = rng.choice(BOUNDARIES) * rng.choice((1, -1))
        value = edge if array.dtype.kind == "f" else np.array(edge % 2**64, np.uint64).astype(array.dtype).item()
        array.flat[rng.randrange(array.size)] = rng.choice((value, value, np.nan)) if array.dtype.kind == "f" else value
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def unzipped(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def mutated_png(rng: random.Random, content: bytes, other: bytes) -> bytes:
    """Damage the picture, or a chunk of it behind a checksum that is right."""
    if rng.random() < 0.3:
        return mutated(rng, content, other)
    chunks, start = [], 8
    while start < len(content):
        (size,) = struct.unpack_from(">I", content, start)
        chunks.append((content[start + 4 : start + 8], content[start + 8 : start + 8 + size]))
        start += size + 12
    index = rng.randrange(len(chunks))
    kind, data = chunks[index]
    if kind == b"IDAT" and rng.random() < 0.5:
        data = zlib.compress(mutated(rng, zlib.decompress(data), other))
    else:
        data = mutated(rng, data, other)
    chunks[index] = (kind, data)
    return content[:8] + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
