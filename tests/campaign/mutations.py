"""Changes to bytes, such as those that disks, networks, editors and attackers make to files."""

TELLING = b"\n\r\t @+>;\0\1\xff*NA\x1f\x8bI"


def place(rng, data):
    return rng.randrange(len(data) + 1)


def stretch(rng, data):
    """Where a random part of the data begins and ends: a few bytes, or up to all of them."""
    begin = place(rng, data)
    return begin, min(len(data), begin + rng.choice((1, 2, 4, 16, 100, 4096, len(data))))


def flip_bit(rng, data, _):
    if not data:
        return data
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1:]


def set_byte(rng, data, _):
    at = place(rng, data)
    return data[:at] + bytes([rng.choice(TELLING)]) + data[at + 1:]


def insert(rng, data, _):
    at, some = place(rng, data), TELLING if rng.random() < 0.5 else range(256)
    return data[:at] + bytes(rng.choices(some, k=rng.choice((1, 3, 50)))) + data[at:]


def truncate(rng, data, _):
    return data[:place(rng, data)]


def delete(rng, data, _):
    begin, end = stretch(rng, data)
    return data[:begin] + data[end:]


def repeat(rng, data, _):
    begin, end = stretch(rng, data)
    return data[:end] + data[begin:]


def zero(rng, data, _):
    begin, end = stretch(rng, data)
    return data[:begin] + bytes(end - begin) + data[end:]


def noise(rng, data, _):
    begin, end = stretch(rng, data)
    return data[:begin] + bytes(rng.choices(range(256), k=end - begin)) + data[end:]


def exchange(rng, data, _):
    """Swap two neighbouring parts."""
    a, b, c = sorted(place(rng, data) for _ in range(3))
    return data[:a] + data[b:c] + data[a:b] + data[c:]


def splice(rng, data, other):
    return data[:place(rng, data)] + other[place(rng, other):]


def overwrite(rng, data, other):
    begin, end = stretch(rng, other)
    at = place(rng, data)
    return data[:at] + other[begin:end] + data[at + end - begin:]


ALL = (flip_bit, flip_bit, set_byte, set_byte, insert, truncate, truncate, delete, repeat, zero,
       noise, exchange, splice, overwrite)


def mutate(rng, data, other, some=ALL):
    """Change data one to four times; other: data of the same kind, to take parts from."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        data = rng.choice(some)(rng, data, other)
    return data
