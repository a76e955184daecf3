"""
Readers of other programs' files, written from the descriptions of the formats alone. Each takes the
path that was given to -o, checks all that the format has beside the k-mers, and gives what kcount
dump prints, as text.
"""
import itertools
import json
import struct

from lib.tools import Failure

FOUR = ["".join(letters) for letters in itertools.product("ACGT", repeat=4)]  # of each byte


def require(true, what):
    if not true:
        raise Failure(what)


def spell(number, k):
    """The k-mer that is this number, 2 bits a base."""
    nbytes = (k + 3) // 4
    return "".join(map(FOUR.__getitem__, number.to_bytes(nbytes, "big")))[4 * nbytes - k:]


def lines(pairs):
    return "".join(f"{kmer}\t{count}\n" for kmer, count in pairs)


def sibling(path, ending, before=""):
    return path.with_name(before + path.name + ending)


def split(data, size):
    """The records of data."""
    require(len(data) % size == 0, f"{len(data)} bytes are not records of {size}")
    return (data[i:i + size] for i in range(0, len(data), size))


# ---- KFF ----

def kff_variables(data, at):
    """The values of the 'v' section at this offset, and the offset after it."""
    require(data[at:at + 1] == b"v", "no 'v' section")
    n, = struct.unpack_from(">Q", data, at + 1)
    at += 9
    values = {}
    for _ in range(n):
        end = data.index(b"\0", at)
        values[data[at:end].decode()], = struct.unpack_from(">Q", data, end + 1)
        at = end + 9
    return values, at


def kff_index(data, footer, footer_begin):
    at = footer["first_index"]
    n, = struct.unpack_from(">Q", data, at + 1)
    end = at + 9 + 9 * n + 8
    entries = [struct.unpack_from(">cq", data, at + 9 + 9 * i) for i in range(n)]
    require(end == footer_begin, "KFF: the index does not end at the footer")
    require(data[end - 8:end] == bytes(8), "KFF: another index")
    return [(kind.decode(), end + offset) for kind, offset in entries]


def read_kff(path, stranded=False):
    data = path.read_bytes()
    require(data[:3] == data[-3:] == b"KFF", "KFF: markers")
    require(data[3:8] == bytes([1, 0, 0b00011011, 1, not stranded]), f"KFF: header {data[3:8]}")
    values, raw = kff_variables(data, 12)
    k = values["k"]
    require((values["max"], values["data_size"], values["ordered"]) == (1, 4, 1), f"KFF: {values}")
    require(data[raw:raw + 1] == b"r", "KFF: no raw section")
    n, = struct.unpack_from(">Q", data, raw + 1)
    size = (k + 3) // 4 + 4
    end = raw + 9 + n * size
    footer_size, = struct.unpack_from(">Q", data, len(data) - 11)
    footer_begin = len(data) - 3 - footer_size
    footer, footer_end = kff_variables(data, footer_begin)
    require(footer_end == len(data) - 3 and footer["footer_size"] == footer_size, "KFF: footer")
    require(footer["first_index"] == end, "KFF: the index does not follow the records")
    places = [("v", 12), ("r", raw), ("v", footer_begin)]
    require(kff_index(data, footer, footer_begin) == places, "KFF: index")
    return lines((spell(int.from_bytes(record[:-4], "big"), k), int.from_bytes(record[-4:], "big"))
                 for record in split(data[raw + 9:end], size))


# ---- KMC ----

def read_kmc(path, stranded=False):
    pre, suf = sibling(path, ".kmc_pre").read_bytes(), sibling(path, ".kmc_suf").read_bytes()
    require(pre[:4] == pre[-4:] == b"KMCP" and suf[:4] == suf[-4:] == b"KMCS", "KMC: markers")
    size, = struct.unpack_from("<I", pre, len(pre) - 8)
    header = len(pre) - 8 - size
    fields = struct.unpack_from("<6IQB", pre, header)
    k, mode, count_size, prefix, low, high, total, is_stranded = fields
    version, = struct.unpack_from("<I", pre, len(pre) - 12)
    require((mode, version, is_stranded) == (0, 0, stranded), "KMC: header")
    starts = [*struct.unpack_from(f"<{4**prefix}Q", pre, 4), total]
    require(header == 4 + 8 * 4**prefix and (k - prefix) % 4 == 0, "KMC: table of prefixes")
    size = (k - prefix) // 4 + count_size
    require(len(suf) == 8 + total * size and starts[0] == 0, "KMC: number of records")
    records = list(split(suf[4:-4], size))
    pairs = []
    for number in range(4**prefix):
        for record in records[starts[number]:starts[number + 1]]:
            bases = spell(int.from_bytes(record[:-count_size], "big"), k - prefix)
            count = int.from_bytes(record[-count_size:], "little")
            require(low <= count <= high, "KMC: a count outside the bounds of the header")
            pairs.append((spell(number, prefix) + bases, count))
    require(len(pairs) == total, "KMC: the table of prefixes misses k-mers")
    return lines(pairs)


# ---- Jellyfish ----

def jellyfish_hash(kmer, columns):
    """The product of the matrix and the k-mer; the first column is that of its highest bit."""
    product = 0
    for i, column in enumerate(columns):
        if kmer >> (len(columns) - 1 - i) & 1:
            product ^= column
    return product


def read_jellyfish(path, stranded=False):
    data = path.read_bytes()
    begin = 9 + int(data[:9])
    header = json.loads(data[9:begin].rstrip(b"\0"))
    require(begin % 8 == 0 and header["alignment"] == 8, "Jellyfish: alignment")
    require(header["format"] == "binary/sorted", "Jellyfish: format")
    require(header["canonical"] == (not stranded), "Jellyfish: strands")
    nbits, matrix = header["key_len"], header["matrix1"]
    require(matrix["c"] == len(matrix["columns"]) == nbits and header["size"] == 1 << matrix["r"],
            "Jellyfish: matrix")
    size = (nbits + 7) // 8 + header["counter_len"]
    pairs = [(int.from_bytes(record[:-4], "little"), int.from_bytes(record[-4:], "little"))
             for record in split(data[begin:], size)]
    sample = pairs[::len(pairs) // 2000 + 1]
    hashes = [(jellyfish_hash(kmer, matrix["columns"]), kmer) for kmer, count in sample]
    require(hashes == sorted(hashes), "Jellyfish: the records are not in the order of the hash")
    return lines((spell(kmer, nbits // 2), count) for kmer, count in pairs)


# ---- FastK ----

def read_fastk(path, stranded=False):
    stub = sibling(path, ".ktab").read_bytes()
    k, nparts, low, prefix = struct.unpack_from("<4i", stub)
    ends = struct.unpack_from(f"<{256**prefix}q", stub, 16)
    require(len(stub) == 16 + 8 * 256**prefix, "FastK: size of the stub")
    size, nbytes = (k + 3) // 4 - prefix + 2, (k + 3) // 4
    records = []
    for number in range(1, nparts + 1):
        part = sibling(path, f".ktab.{number}", ".").read_bytes()
        part_k, n = struct.unpack_from("<iq", part)
        require(part_k == k and len(part) == 12 + n * size, "FastK: header of a part")
        records += split(part[12:], size)
    require(ends[-1] == len(records), "FastK: the index does not end with the number of k-mers")
    pairs, begin = [], 0
    for number, end in enumerate(ends):
        for record in records[begin:end]:
            whole = number.to_bytes(prefix, "big") + record[:-2]
            bases = spell(int.from_bytes(whole, "big"), 4 * nbytes)
            require(set(bases[k:]) <= {"A"}, "FastK: bits after the last base")
            count, = struct.unpack("<H", record[-2:])
            require(low <= count <= 32767, f"FastK: count {count}")
            pairs.append((bases[:k], count))
        begin = end
    return lines(pairs)


def read_fastk_histogram(path):
    """k, the sum of counts of 1 and of 32767 and more, and {count: number of k-mers}."""
    data = sibling(path, ".hist").read_bytes()
    k, low, high, first, last = struct.unpack_from("<3i2q", data)
    require((low, high, len(data)) == (1, 32767, 28 + 8 * 32767), "FastK: histogram")
    rows = struct.unpack_from("<32767q", data, 28)
    return k, first, last, {count: number for count, number in enumerate(rows, 1) if number}


# ---- Arrow ----

class Flat:
    """An object in a flatbuffer."""
    def __init__(self, data, at=None):
        self.data, self.at = data, self.number("I", 0, data) if at is None else at

    @staticmethod
    def number(kind, at, data):
        return struct.unpack_from("<" + kind, data, at)[0]

    def place(self, index):
        """Of a table's field, None if it is absent."""
        description = self.at - self.number("i", self.at, self.data)
        if 4 + 2 * index >= self.number("H", description, self.data):
            return None
        distance = self.number("H", description + 4 + 2 * index, self.data)
        return self.at + distance if distance else None

    def value(self, index, kind):
        place = self.place(index)
        if place is None:
            return 0
        require(place % struct.calcsize(kind) == 0, "Arrow: a field that is not aligned")
        return self.number(kind, place, self.data)

    def child(self, index):
        place = self.place(index)
        return Flat(self.data, place + self.number("I", place, self.data))

    def text(self):
        n = self.number("I", self.at, self.data)
        require(self.data[self.at + 4 + n] == 0, "Arrow: a string without NUL")
        return bytes(self.data[self.at + 4:self.at + 4 + n]).decode()

    def structs(self, kinds):
        n, size = self.number("I", self.at, self.data), struct.calcsize("<" + kinds)
        places = range(self.at + 4, self.at + 4 + n * size, size)
        return [struct.unpack_from("<" + kinds, self.data, place) for place in places]

    def tables(self):
        distances = enumerate(self.structs("I"), 1)
        return [Flat(self.data, self.at + 4 * i + distance) for i, (distance,) in distances]


def arrow_schema(schema):
    """The columns, each as (name, number of its type), and the metadata."""
    columns = [(field.child(0).text(), field.value(2, "B")) for field in schema.child(1).tables()]
    number = schema.child(1).tables()[1].child(3)
    require((number.value(0, "i"), number.value(1, "B")) == (32, 0), "Arrow: no uint32")
    facts = schema.child(2).tables()
    return columns, {fact.child(0).text(): fact.child(1).text() for fact in facts}


def arrow_messages(data, at):
    """Each message as (its offset, its size, its header's number, its header, its body)."""
    while True:
        mark, size = struct.unpack_from("<Ii", data, at)
        require(mark == 2**32 - 1, "Arrow: no message")
        if size == 0:
            return
        message = Flat(data[at + 8:at + 8 + size])
        nbytes = message.value(3, "q")
        require(message.value(0, "h") == 4, "Arrow: version of a message")
        require((at + 8 + size) % 8 == nbytes % 8 == 0, "Arrow: alignment of a body")
        body = data[at + 8 + size:at + 8 + size + nbytes]
        yield at, 8 + size, message.value(1, "B"), message.child(2), body
        at += 8 + size + nbytes


def arrow_pairs(batch, body):
    n = batch.value(0, "q")
    require(batch.child(1).structs("qq") == [(n, 0)] * 2, "Arrow: numbers of rows")
    buffers = [body[offset:offset + size] for offset, size in batch.child(2).structs("qq")]
    sizes = [len(buffers[i]) for i in (0, 1, 3, 4)]
    require(sizes == [0, 4 * n + 4, 0, 4 * n], f"Arrow: sizes of buffers {sizes}")
    ends = struct.unpack(f"<{n + 1}i", buffers[1])
    letters, counts = bytes(buffers[2]).decode(), struct.unpack(f"<{n}I", buffers[4])
    require(ends[0] == 0 and ends[-1] == len(letters), "Arrow: ends of the strings")
    return zip((letters[begin:end] for begin, end in zip(ends, ends[1:])), counts)


def read_arrow(path, stranded=False):
    data = memoryview(path.read_bytes())
    require(data[:8] == b"ARROW1\0\0" and data[-6:] == b"ARROW1", "Arrow: markers")
    messages = list(arrow_messages(data, 8))
    footer = Flat(data[-10 - Flat.number("I", len(data) - 10, data):-10])
    require(footer.value(0, "h") == 4, "Arrow: version in the footer")
    for schema in (messages[0][3], footer.child(1)):
        columns, facts = arrow_schema(schema)
        require(columns == [("kmer", 5), ("count", 2)], f"Arrow: {columns}")
        require(facts["canonical"] == ("false" if stranded else "true"), "Arrow: strands")
    kinds = [message[2] for message in messages]
    require(kinds == [1] + [3] * (len(messages) - 1), f"Arrow: kinds of messages {kinds}")
    places = [(at, size, len(body)) for at, size, kind, batch, body in messages[1:]]
    require(footer.child(3).structs("qi4xq") == places, "Arrow: places in the footer")
    pairs = [pair for message in messages[1:] for pair in arrow_pairs(*message[3:])]
    require(all(len(kmer) == int(facts["k"]) for kmer, count in pairs), "Arrow: lengths of k-mers")
    return lines(pairs)
