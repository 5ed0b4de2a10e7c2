#!/usr/bin/env python3
"""A second reader of the vectors: Python 3.9 or later and its standard library, and nothing of the TypeScript.

It has its own canonical encoding, ids, schemas, roster, rules S1 and S3 to S10, rules E1 to E7 and state digest,
written from the pages in ../spec. The standard library has neither Ed25519 nor X25519 nor ChaCha20-Poly1305, so
signatures, wrapped keys and sealed bytes are out of its scope: where a vector is refused for a signature alone, this
reader takes the vector's word and counts it as not read.

    python3 reader.py [folder or file ...]      prints a line for each failure, and at last `N passed, N failed`
"""

import base64
import hashlib
import hmac
import json
import re
import sys
from pathlib import Path

# What is refused for a signature or a point on a curve: out of scope.
BY_SIGNATURE = {"bad_signature", "weak_key", "roster_author", "roster_proof"}


class Refused(Exception):
    """A rule's named no."""


class Waits(Exception):
    """A parent or a roster entry is not here."""


def refuse(name):
    raise Refused(name)


# ---------------------------------------------------------------- JSON of the vectors


def unhex(text):
    """Bytes of hex in which `(00*1000)` stands for a thousand zero bytes."""
    return bytes.fromhex(re.sub(r"\(([0-9a-f]{2})\*(\d+)\)", lambda m: m[1] * int(m[2]), text))


def from_json(value):
    """A canonical value: {"hex": text} is bytes, {"map": pairs} a map."""
    if isinstance(value, list):
        return [from_json(item) for item in value]
    if isinstance(value, dict):
        if "hex" in value:
            return unhex(value["hex"])
        return {key: from_json(inner) for key, inner in value["map"]}
    return value


# ---------------------------------------------------------------- canonical encoding (spec/canonical.md)

INT_MAX = 2**53 - 1


def head(major, count):
    for width, code in ((0, None), (1, 24), (2, 25), (4, 26), (8, 27)):
        if width == 0:
            if count < 24:
                return bytes([major << 5 | count])
        elif count < 256**width:
            return bytes([major << 5 | code]) + count.to_bytes(width, "big")
    raise ValueError(count)


def encode(value):
    if value is None:
        return b"\xf6"
    if isinstance(value, bool):
        return b"\xf5" if value else b"\xf4"
    if isinstance(value, int):
        return head(0, value) if value >= 0 else head(1, -1 - value)
    if isinstance(value, (bytes, bytearray)):
        return head(2, len(value)) + bytes(value)
    if isinstance(value, str):
        text = value.encode("utf-8")
        return head(3, len(text)) + text
    if isinstance(value, (list, tuple)):
        return head(4, len(value)) + b"".join(encode(item) for item in value)
    if isinstance(value, dict):
        keys = sorted(((key.encode("utf-8"), key) for key in value), key=lambda pair: (len(pair[0]), pair[0]))
        return head(5, len(keys)) + b"".join(encode(key) + encode(value[key]) for _, key in keys)
    raise TypeError(type(value))


def decode(data, size=327680, depth=8, keys=32):
    """The value of canonical bytes. Strict while it reads: nothing is encoded anew."""
    if len(data) > size:
        refuse("oversize")
    value, end = decode_item(data, 0, 0, depth, keys)
    if end != len(data):
        refuse("not_canonical")
    return value


def decode_item(data, at, level, depth, keys):
    if at >= len(data):
        refuse("not_canonical")
    major, info = data[at] >> 5, data[at] & 31
    at += 1
    if major == 7:
        if info not in (20, 21, 22):
            refuse("not_canonical")
        return {20: False, 21: True, 22: None}[info], at
    if major == 6 or info > 27:
        refuse("not_canonical")
    count = info
    if info >= 24:
        width = 1 << (info - 24)
        if at + width > len(data):
            refuse("not_canonical")
        count = int.from_bytes(data[at : at + width], "big")
        at += width
        # The shortest form: a byte only from 24 on, and more bytes only for what fewer cannot hold.
        if count < (24 if width == 1 else 256 ** (width // 2)):
            refuse("not_canonical")
    if major == 0:
        return (count if count <= INT_MAX else refuse("not_canonical")), at
    if major == 1:
        return (-1 - count if count < INT_MAX else refuse("not_canonical")), at
    if major == 5 and count > keys:
        refuse("too_many_keys")
    if count > len(data) - at:
        refuse("not_canonical")
    if major in (2, 3):
        content = bytes(data[at : at + count])
        if major == 2:
            return content, at + count
        try:
            return content.decode("utf-8", "strict"), at + count
        except UnicodeDecodeError:
            refuse("not_canonical")
    if level >= depth:
        refuse("too_deep")
    if major == 4:
        items = []
        for _ in range(count):
            item, at = decode_item(data, at, level + 1, depth, keys)
            items.append(item)
        return items, at
    found, before = {}, None
    for _ in range(count):
        key, at = decode_item(data, at, level + 1, depth, keys)
        if not isinstance(key, str):
            refuse("not_canonical")
        place = (len(key.encode("utf-8")), key.encode("utf-8"))
        if before is not None and place <= before:
            refuse("not_canonical")
        before = place
        found[key], at = decode_item(data, at, level + 1, depth, keys)
    return found, at


def tagged(purpose, parts):
    return b"relay-node/1/" + purpose.encode("ascii") + b"\0" + encode(parts)


def digest(purpose, parts):
    return hashlib.sha256(tagged(purpose, parts)).digest()


def mac(key, purpose, parts):
    return hmac.new(key, tagged(purpose, parts), hashlib.sha256).digest()


def hkdf(secret, salt, purpose, parts):
    """RFC 5869 for 32 bytes: one block."""
    prk = hmac.new(salt or bytes(32), secret, hashlib.sha256).digest()
    return hmac.new(prk, tagged(purpose, parts) + b"\x01", hashlib.sha256).digest()


# ---------------------------------------------------------------- shapes


def is_uint(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_bytes(length=None):
    return lambda value: isinstance(value, bytes) and (length is None or len(value) == length)


def is_list(item, least=0, most=None):
    return lambda value: (
        isinstance(value, list)
        and least <= len(value)
        and (most is None or len(value) <= most)
        and all(item(one) for one in value)
    )


def is_row(*items):
    return lambda value: (
        isinstance(value, list) and len(value) == len(items) and all(is_item(one) for is_item, one in zip(items, value))
    )


def is_map(**fields):
    return lambda value: (
        isinstance(value, dict) and set(value) == set(fields) and all(fields[key](value[key]) for key in fields)
    )


def is_one_of(*words):
    return lambda value: isinstance(value, str) and value in words


def or_null(item):
    return lambda value: value is None or item(value)


def is_text(value):
    return isinstance(value, str)


def is_anything(_):
    return True


def is_name(value):
    return isinstance(value, str) and re.fullmatch(r"[a-z0-9][a-z0-9-]{0,31}", value) is not None


def is_address(value):
    return isinstance(value, str) and len(value.encode("utf-8")) <= 256


ID = is_bytes(32)
WRAP = is_row(ID, ID, ID, is_bytes(48))
SIDE = is_list(ID, 1, 8)

CTL = {
    "create": is_map(
        to=ID,
        senders=SIDE,
        recipients=SIDE,
        intent=is_one_of("inform", "ask_question", "propose_action"),
        action=or_null(ID),
        parent=or_null(ID),
        nonce=ID,
        commit=ID,
        wraps=is_list(WRAP, 0, 16),
    ),
    "accept": is_map(),
    "cancel": is_map(),
    "complete": is_map(outcome=is_one_of("done", "partial", "declined")),
    "message": is_map(),
    "revise": is_map(base=is_list(ID, 1, 16)),
    "annotate": is_map(target=ID),
    "resolve": is_map(annotation=ID, revision=ID),
    "approve": is_map(action=ID, verdict=is_one_of("approved", "rejected")),
    "share": is_map(reader=ID, devices=SIDE, key=ID, wraps=is_list(WRAP, 0, 8)),
    "wrap": is_map(
        commit=ID,
        wraps=is_list(WRAP, 0, 64),
        older=is_list(is_row(ID, is_bytes(48)), 0, 32),
        adds=or_null(ID),
    ),
    "ack": is_map(lack=is_list(ID, 0, 32)),
    "fence": is_map(device=ID),
}
WITHOUT_BODY = {"share", "wrap", "ack", "fence"}

HEADER = is_map(
    v=is_uint,
    ws=ID,
    th=or_null(ID),
    dev=ID,
    seq=is_uint,
    prev=or_null(ID),
    deps=is_list(ID, 0, 16),
    ros=is_row(is_uint, ID),
    kind=is_text,
    ctl=is_anything,
    body=or_null(is_map(h=ID, n=is_uint, key=or_null(ID), iv=ID)),
    ts=is_uint,
)
ENVELOPE = is_row(is_bytes(), is_bytes(64))
BODY_SIZES = {size + 16 for size in (256, 1024, 4096, 16384, 65536, 262144)}

# ---------------------------------------------------------------- entries (spec/entry.md)


class Entry:
    """An entry whose bytes are in order. `past`, `depth`, `side` and `number` come with its place in a thread."""

    def __init__(self, header_bytes, header):
        self.id = digest("entry-id", [header_bytes])
        self.header = header
        self.kind, self.ctl, self.dev, self.seq = header["kind"], header["ctl"], header["dev"], header["seq"]
        self.prev, self.deps = header["prev"], header["deps"]
        self.parents = ([] if self.prev is None else [self.prev]) + self.deps
        self.thread = self.id if header["th"] is None else header["th"]
        self.past, self.depth, self.side, self.number = frozenset(), 1, None, None


def ascending(ids):
    return all(one < next_one for one, next_one in zip(ids, ids[1:]))


def open_entry(envelope, versions=(1,)):
    """Steps 1 to 9 of opening an entry; the tenth is the signature."""
    outer = decode(envelope, 8272)
    if not ENVELOPE(outer):
        refuse("schema")
    header = decode(outer[0], 8192)
    if isinstance(header, dict):
        v = header.get("v")
        if isinstance(v, int) and not isinstance(v, bool) and v not in versions:
            refuse("unknown_version")
    if not HEADER(header):
        refuse("schema")
    kind, ctl, body = header["kind"], header["ctl"], header["body"]
    if kind not in CTL:
        refuse("unknown_kind")
    if not CTL[kind](ctl):
        refuse("schema")
    if (header["th"] is None) != (kind == "create") or (header["prev"] is None) != (header["seq"] == 0):
        refuse("schema")
    if (body is None) != (kind in WITHOUT_BODY):
        refuse("body_presence")
    if body is not None and ((body["key"] is None) != (kind == "create") or body["n"] not in BODY_SIZES):
        refuse("schema")
    lists = [header["deps"]] + ([ctl["lack"]] if kind == "ack" else []) + ([ctl["base"]] if kind == "revise" else [])
    if not all(ascending(ids) for ids in lists):
        refuse("lists_unsorted")
    if kind == "create" and (ctl["action"] is not None) != (ctl["intent"] == "propose_action"):
        refuse("action_presence")
    return Entry(outer[0], header)


# ---------------------------------------------------------------- the roster (spec/roster.md)

ROLE = is_one_of("member", "reader")
SORT = is_one_of("person", "service")
ROSTER_CTL = {
    "genesis": is_map(
        name=is_name,
        member=is_name,
        device=ID,
        device_name=is_name,
        successor=ID,
        nonce=ID,
        commit=ID,
        wraps=is_list(WRAP, 0, 128),
    ),
    "add-member": is_map(name=is_name, role=ROLE, kind=SORT, invite=or_null(ID)),
    "add-device": is_map(
        member=ID,
        device=ID,
        name=is_name,
        prekey=ID,
        invite=or_null(ID),
        invite_signature=or_null(is_bytes(64)),
        device_signature=is_bytes(64),
        wraps=is_list(WRAP, 1, 1),
    ),
    "remove-device": is_map(device=ID),
    "remove-member": is_map(member=ID),
    "set-role": is_map(member=ID, role=ROLE),
    "invite": is_map(key=ID, name=is_name, role=ROLE, kind=SORT, expires=is_uint),
    "revoke-invite": is_map(invite=ID),
    "rekey": is_map(epoch=is_uint, commit=ID, wraps=is_list(WRAP, 0, 128)),
    "set-bootstrap": is_map(addresses=is_list(is_address, 0, 16)),
    "handover": is_map(key=ID, device=ID, successor=ID),
}
ROSTER_HEADER = is_map(
    v=is_uint, ws=or_null(ID), n=is_uint, prev=or_null(ID), kind=is_text, ctl=is_anything, ts=is_uint
)


def covers(wraps, devices):
    return sorted(wrap[0] for wrap in wraps) == sorted(devices)


class Point:
    """The roster as of one entry."""

    def __init__(self, before=None):
        self.n = 0 if before is None else before.n + 1
        self.prev = before
        self.ws = self.owner = self.successor = before
        self.epoch, self.members, self.devices, self.invites = 0, {}, {}, {}
        if before is not None:
            self.ws, self.owner, self.successor, self.epoch = before.ws, before.owner, before.successor, before.epoch
            self.members = {key: dict(member) for key, member in before.members.items()}
            self.devices = {key: dict(device) for key, device in before.devices.items()}
            self.invites = {key: dict(invite) for key, invite in before.invites.items()}

    def active(self, device):
        return device in self.devices and not self.devices[device]["removed"]

    def present(self, member):
        return member in self.members and not self.members[member]["removed"]

    def member_of(self, device):
        return self.devices[device]["member"] if device in self.devices else None

    def named(self, name):
        return [key for key, member in self.members.items() if member["name"] == name and not member["removed"]]

    def active_of(self, member):
        return [key for key, one in self.devices.items() if one["member"] == member and not one["removed"]]

    def owns_under(self, device, member):
        return self.active(device) and self.devices[device]["member"] == member


class Roster:
    def __init__(self, envelopes=()):
        self.points = {}
        for envelope in envelopes:
            self.admit(envelope)

    def admit(self, envelope):
        outer = decode(envelope, 32768, 6, 16)
        if not ENVELOPE(outer):
            refuse("schema")
        header = decode(outer[0], 32768, 6, 16)
        if not ROSTER_HEADER(header):
            refuse("schema")
        if header["v"] != 1:
            refuse("unknown_version")
        kind, ctl, first = header["kind"], header["ctl"], header["kind"] == "genesis"
        if kind not in ROSTER_CTL:
            refuse("unknown_kind")
        if not ROSTER_CTL[kind](ctl):
            refuse("schema")
        if {header["ws"] is None, header["prev"] is None, header["n"] == 0} != {first}:
            refuse("schema")
        name = digest("roster-id", [outer[0]])
        if name in self.points:
            return self.points[name]
        if first and self.points:
            refuse("roster_chain")
        if not first and header["prev"] not in self.points:
            raise Waits()
        before = None if first else self.points[header["prev"]]
        if before is not None:
            if header["ws"] != before.ws:
                refuse("workspace_mismatch")
            if header["n"] != before.n + 1:
                refuse("roster_chain")
        point = Point(before)
        point.id = name
        getattr(self, "on_" + kind.replace("-", "_"))(point, ctl)
        self.points[name] = point
        return point

    def on_genesis(self, point, ctl):
        if not covers(ctl["wraps"], [ctl["device"]]):
            refuse("wrap_cover")
        point.ws, point.owner, point.successor = point.id, ctl["device"], ctl["successor"]
        point.members[point.id] = {"name": ctl["member"], "role": "member", "kind": "person", "removed": False}
        point.devices[ctl["device"]] = {"member": point.id, "name": ctl["device_name"], "removed": False}

    def on_add_member(self, point, ctl):
        if point.named(ctl["name"]):
            refuse("roster_state")
        if ctl["invite"] is not None:
            invite = self.open_invite(point, ctl["invite"])
            if any(invite[key] != ctl[key] for key in ("name", "role", "kind")):
                refuse("roster_state")
        point.members[point.id] = {key: ctl[key] for key in ("name", "role", "kind")}
        point.members[point.id]["removed"] = False

    def on_add_device(self, point, ctl):
        if not point.present(ctl["member"]) or ctl["device"] in point.devices:
            refuse("roster_state")
        others = point.active_of(ctl["member"])
        if len(others) >= 8 or any(point.devices[key]["name"] == ctl["name"] for key in others):
            refuse("roster_state")
        if not covers(ctl["wraps"], [ctl["device"]]):
            refuse("wrap_cover")
        if ctl["invite"] is not None:
            invite = self.open_invite(point, ctl["invite"])
            if invite["name"] != point.members[ctl["member"]]["name"]:
                refuse("roster_state")
            invite["state"] = "used"
        if (ctl["invite"] is None) != (ctl["invite_signature"] is None):
            refuse("roster_proof")
        point.devices[ctl["device"]] = {"member": ctl["member"], "name": ctl["name"], "removed": False}

    def on_remove_device(self, point, ctl):
        if not point.active(ctl["device"]) or ctl["device"] == point.owner:
            refuse("roster_state")
        point.devices[ctl["device"]]["removed"] = True

    def on_remove_member(self, point, ctl):
        self.other_member(point, ctl["member"])["removed"] = True
        for device in point.devices.values():
            if device["member"] == ctl["member"]:
                device["removed"] = True

    def on_set_role(self, point, ctl):
        self.other_member(point, ctl["member"])["role"] = ctl["role"]

    def on_invite(self, point, ctl):
        if any(invite["key"] == ctl["key"] for invite in point.invites.values()) or point.named(ctl["name"]):
            refuse("roster_state")
        point.invites[point.id] = dict(ctl, state="open")

    def on_revoke_invite(self, point, ctl):
        self.open_invite(point, ctl["invite"])["state"] = "withdrawn"

    def on_rekey(self, point, ctl):
        if ctl["epoch"] != point.epoch + 1:
            refuse("roster_state")
        if not covers(ctl["wraps"], [device for device in point.devices if point.active(device)]):
            refuse("wrap_cover")
        point.epoch = ctl["epoch"]

    def on_set_bootstrap(self, point, ctl):
        pass

    def on_handover(self, point, ctl):
        if digest("successor", [ctl["key"]]) != point.successor:
            refuse("roster_author")
        if not point.active(ctl["device"]):
            refuse("roster_state")
        point.owner, point.successor = ctl["device"], ctl["successor"]

    @staticmethod
    def open_invite(point, name):
        invite = point.invites.get(name)
        return invite if invite is not None and invite["state"] == "open" else refuse("roster_state")

    @staticmethod
    def other_member(point, member):
        if not point.present(member) or member == point.member_of(point.owner):
            refuse("roster_state")
        return point.members[member]


# ---------------------------------------------------------------- stored or refused (spec/thread.md, S3 to S10)

BOTH = {"sender", "recipient"}
WRITERS = {
    "accept": {"recipient"},
    "cancel": {"sender"},
    "complete": {"recipient"},
    "approve": {"recipient"},
    "ack": BOTH | {"reader"},
}
OPEN = {"pending", "accepted"}
ALLOWED = {"accept": {"pending"}, "cancel": {"pending"}, "complete": {"accepted"}, "approve": {"accepted"}}
ALLOWED.update({kind: OPEN for kind in ("message", "revise", "annotate", "resolve", "share")})
TURNS = {"message", "revise", "annotate", "resolve", "approve", "share"}


class Thread:
    """The stored entries of one thread."""

    def __init__(self):
        self.entries = {}
        self.create = None

    def __getitem__(self, name):
        return self.entries[name]

    def of(self, ids, *kinds):
        return [self.entries[name] for name in ids if self.entries[name].kind in kinds]

    def side(self, past, device):
        """The side of a device in a past."""
        if self.create is not None and self.create.id in past:
            if device in self.create.ctl["senders"]:
                return "sender"
            if device in self.create.ctl["recipients"]:
                return "recipient"
        for wrap in self.of(past, "wrap"):
            if wrap.ctl["adds"] == device:
                return wrap.side
        return "reader" if any(device in share.ctl["devices"] for share in self.of(past, "share")) else None

    def rank(self, device):
        ctl = self.create.ctl
        listed = ctl["senders"] + ctl["recipients"]
        return (listed.index(device), b"") if device in listed else (len(listed), device)

    def store(self, entry):
        self.entries[entry.id] = entry
        if entry.kind == "create":
            self.create = entry

    def judge(self, entry, roster, refused=frozenset(), elsewhere=frozenset()):
        """Gives the entry its place, or says why it has none."""
        if entry.kind == "create" and entry.parents:
            refuse("missing_create")
        if any(parent in refused for parent in entry.parents):
            refuse("parent_refused")
        if any(parent in elsewhere for parent in entry.parents):
            refuse("thread_mismatch")
        if entry.header["ros"][1] not in roster.points or any(one not in self.entries for one in entry.parents):
            raise Waits()
        self.check_place(entry)
        self.check_roster(entry, roster.points)
        point = roster.points[entry.header["ros"][1]]
        self.check_side(entry, point)
        self.check_status(entry)
        self.check_arguments(entry, point)
        self.check_counts(entry)

    def check_place(self, entry):
        parents = [self[name] for name in entry.parents]
        if entry.kind == "create":
            if self.create is not None or entry.seq != 0:
                refuse("missing_create")
        else:
            if not parents or self.create is None or entry.thread != self.create.id:
                refuse("missing_create")
            if entry.header["v"] != self.create.header["v"]:
                refuse("version_mismatch")
            if entry.header["ws"] != self.create.header["ws"]:
                refuse("workspace_mismatch")
        for dep in entry.deps:
            if dep == entry.prev or any(dep in parent.past for parent in parents):
                refuse("redundant_parent")
        if entry.prev is not None and (self[entry.prev].dev, self[entry.prev].seq) != (entry.dev, entry.seq - 1):
            refuse("chain_broken")
        entry.past = frozenset(entry.parents).union(*(parent.past for parent in parents))
        if sum(1 for name in entry.past if self[name].dev == entry.dev) != entry.seq:
            refuse("own_fork")
        entry.depth = 1 + max((parent.depth for parent in parents), default=0)
        entry.side = "sender" if entry.kind == "create" else self.side(entry.past, entry.dev)
        if entry.kind in ("create", "message", "complete"):
            least = 1 + max((self[name].number or 0 for name in entry.past), default=0)
            entry.number = least + (least % 2 != (1 if entry.side == "sender" else 0))

    def check_roster(self, entry, points):
        n, name = entry.header["ros"]
        point = points[name]
        if point.n != n:
            refuse("roster_position")
        if point.ws != entry.header["ws"]:
            refuse("workspace_mismatch")
        if entry.dev not in point.devices:
            refuse("device_not_enrolled")
        if not point.active(entry.dev):
            refuse("device_removed")
        line, at = set(), point
        while at is not None:
            line.add(at.id)
            at = at.prev
        if any(self[parent].header["ros"][1] not in line for parent in entry.parents):
            refuse("roster_went_back")
        if point.members[point.member_of(entry.dev)]["role"] == "reader" and entry.kind != "ack":
            refuse("reader_only")

    def check_side(self, entry, point):
        ctl, member = entry.ctl, point.member_of(entry.dev)
        if entry.kind == "create":
            both = ctl["senders"] + ctl["recipients"]
            if not point.present(ctl["to"]):
                refuse("unknown_member")
            if ctl["to"] == member:
                refuse("same_member")
            if len(set(both)) < len(both):
                refuse("repeated_device")
            if entry.dev not in ctl["senders"]:
                refuse("author_not_listed")
            if not all(point.owns_under(device, member) for device in ctl["senders"]):
                refuse("foreign_device")
            if not all(point.owns_under(device, ctl["to"]) for device in ctl["recipients"]):
                refuse("foreign_device")
            return
        if entry.side is None:
            refuse("no_side")
        if entry.side not in WRITERS.get(entry.kind, BOTH):
            refuse("reader_only" if entry.side == "reader" else "wrong_side")
        if entry.kind == "share":
            if not point.present(ctl["reader"]):
                refuse("unknown_member")
            if ctl["reader"] in (self.create.ctl["to"], point.member_of(self.create.dev)):
                refuse("same_member")
            if len(set(ctl["devices"])) < len(ctl["devices"]):
                refuse("repeated_device")
            if not all(point.owns_under(device, ctl["reader"]) for device in ctl["devices"]):
                refuse("foreign_device")
        if entry.kind == "wrap" and ctl["adds"] is not None:
            if not point.owns_under(ctl["adds"], member):
                refuse("foreign_device")
            if self.side(entry.past, ctl["adds"]) is not None:
                refuse("repeated_device")

    def check_status(self, entry):
        if entry.kind not in ALLOWED:
            return
        known = Outcome(self, entry.past)
        if known.status not in ALLOWED[entry.kind]:
            refuse("wrong_state")
        if entry.kind == "complete" and entry.ctl["outcome"] == "done":
            if self.create.ctl["intent"] == "propose_action" and known.verdict != "approved":
                refuse("approval_missing")

    def check_arguments(self, entry, point):
        ctl, past = entry.ctl, entry.past

        def names(name, *kinds):
            if name not in past or self[name].kind not in kinds:
                refuse("target_missing")

        if entry.kind == "create" and not covers(ctl["wraps"], ctl["senders"] + ctl["recipients"]):
            refuse("wrap_cover")
        if entry.kind == "revise" and ctl["base"] != self.record_heads(past)[:16]:
            refuse("base_not_heads")
        if entry.kind == "annotate":
            names(ctl["target"], "create", "revise", "message", "complete")
        if entry.kind == "resolve":
            names(ctl["annotation"], "annotate")
            names(ctl["revision"], "create", "revise")
        if entry.kind == "approve" and ctl["action"] != self.create.ctl["action"]:
            refuse("action_differs")
        if entry.kind == "share":
            if not covers(ctl["wraps"], ctl["devices"]):
                refuse("wrap_cover")
            names(ctl["key"], "create", "wrap")
        if entry.kind == "wrap":
            known = Outcome(self, past)
            devices = set(self.create.ctl["senders"] + self.create.ctl["recipients"]) | {ctl["adds"]}
            for other in self.of(past, "wrap", "share"):
                if not known.is_cut(other):
                    devices |= set(other.ctl["devices"] if other.kind == "share" else [other.ctl["adds"]])
            if not covers(ctl["wraps"], [device for device in devices if device is not None and point.active(device)]):
                refuse("wrap_cover")
        if entry.kind == "ack" and not set(ctl["lack"]) <= past:
            refuse("lack_not_in_past")
        if entry.kind == "fence":
            target = ctl["device"]
            removed = target in point.devices and point.devices[target]["removed"]
            if {entry.side, self.side(past, target)} != BOTH or not removed:
                refuse("fence_target")

    def check_counts(self, entry):
        own = sorted((self[name] for name in entry.past if self[name].dev == entry.dev), key=lambda one: one.seq)
        if entry.kind in TURNS:
            turns = [one for one in own if one.kind in TURNS] + [entry]
            if len(turns) > 400:
                refuse("turns_exceeded")
            if entry.side == "sender" and len(turns) > 64 and self.is_pending(entry):
                if sum(self.is_pending(one) for one in turns) > 64:
                    refuse("pending_turns_exceeded")
        if entry.kind == "wrap" and sum(one.kind == "wrap" for one in own) >= 32:
            refuse("wraps_exceeded")
        if entry.kind == "fence" and any(one.kind == "fence" and one.ctl == entry.ctl for one in own):
            refuse("fence_repeated")
        if entry.kind == "ack" and not self.has_news(entry):
            acks = [one for one in own if one.kind == "ack"]
            if entry.ctl["lack"] == (acks[-1].ctl["lack"] if acks else []):
                refuse("ack_without_news")
            if sum(not self.has_news(one) for one in acks) >= 100:
                refuse("lack_changes_exceeded")

    def is_pending(self, entry):
        return Outcome(self, entry.past).status == "pending"

    def has_news(self, ack):
        known = self[ack.prev].past if ack.prev is not None else frozenset()
        return any(self[name].dev != ack.dev and self[name].kind != "ack" for name in ack.past - known)

    def record_heads(self, ids):
        replaced = {name for revise in self.of(ids, "revise") for name in revise.ctl["base"]}
        return sorted(one.id for one in self.of(ids, "create", "revise") if one.id not in replaced)


# ---------------------------------------------------------------- what a set amounts to (spec/thread.md, E1 to E7)

CAN_BE_CUT = {"accept", "complete", "approve", "wrap", "share", "message", "revise", "annotate", "resolve"}
CAN_BE_LATE = {"message", "revise", "annotate", "resolve"}


def beside(one, other):
    return one is not other and one.id not in other.past and other.id not in one.past


class Outcome:
    """A set of stored entries that holds the past of each, seen under all of its fences or under some."""

    def __init__(self, thread, ids, fences=None):
        self.thread, self.ids = thread, frozenset(ids)
        self.entries = [thread[name] for name in self.ids]
        self.fences = self.kind("fence") if fences is None else fences
        self.cuts, self.voids = {}, {}

    def under(self, fences):
        return Outcome(self.thread, self.ids, fences)

    def kind(self, *kinds):
        return [entry for entry in self.entries if entry.kind in kinds]

    def by(self, device):
        return [entry for entry in self.entries if entry.dev == device]

    # E5
    def is_cut(self, entry):
        if entry.id not in self.cuts:
            self.cuts[entry.id] = entry.kind in CAN_BE_CUT and any(self.cuts_off(f, entry) for f in self.fences)
        return self.cuts[entry.id]

    def cuts_off(self, fence, entry):
        if fence.ctl["device"] != entry.dev or entry.id in fence.past:
            return False
        return not any(
            x.side == fence.side and x is not fence and entry.id in x.past and fence.id not in x.past
            for x in self.entries
        )

    # E2
    def is_void(self, entry):
        if entry.id not in self.voids:
            self.voids[entry.id] = self.is_receipted_beside(entry) or not self.is_rooted(entry)
        return self.voids[entry.id]

    def is_receipted_beside(self, entry):
        cancels = {cancel.id for cancel in self.kind("cancel")}
        return any(beside(q, entry) and q.past & cancels for q in self.by(entry.dev))

    def is_rooted(self, entry):
        ctl = self.thread.create.ctl
        if entry.dev in ctl["senders"] + ctl["recipients"]:
            return True
        adding = [wrap for wrap in self.thread.of(entry.past, "wrap") if wrap.ctl["adds"] == entry.dev]
        return any(not self.is_void(wrap) and not self.is_cut(wrap) for wrap in adding)

    def accepts(self):
        return [one for one in self.kind("accept") if not self.is_void(one) and not self.is_cut(one)]

    def completes(self):
        accepted = {accept.id for accept in self.accepts()}
        return [one for one in self.kind("complete") if not self.is_cut(one) and one.past & accepted]

    # E1
    @property
    def status(self):
        if self.completes():
            return "completed"
        if self.accepts():
            return "accepted"
        return "cancelled" if self.kind("cancel") else "pending"

    # E3
    def lead(self, candidates):
        def first_seen(candidate):
            author = self.by(self.thread.create.dev)
            return min((own.seq for own in author if candidate.id in own.past), default=float("inf"))

        return min(candidates, key=lambda c: (first_seen(c), self.thread.rank(c.dev), c.id), default=None)

    # E4
    def late(self):
        status = self.status
        seals = []
        if status == "completed":
            seals = [self.lead(self.completes())]
        elif status == "cancelled":
            seals = self.kind("cancel")
        if not seals:
            return []
        record = frozenset(seal.id for seal in seals).union(*(seal.past for seal in seals))
        return [one for one in self.kind(*CAN_BE_LATE) if one.id not in record]

    # E6
    def order(self):
        return sorted(self.entries, key=lambda one: (one.depth, self.thread.rank(one.dev), one.id))

    @property
    def verdict(self):
        counted = [one for one in self.kind("approve") if not self.is_cut(one)]
        standing = [one for one in counted if not any(one.id in other.past for other in counted)]
        if not standing:
            return None
        return "approved" if all(one.ctl["verdict"] == "approved" for one in standing) else "rejected"

    def repudiated(self):
        if self.status != "cancelled":
            return False
        unfenced = self.under([])
        forked = {one.id for one in self.kind("accept") if not self.is_cut(one) and unfenced.is_void(one)}
        return any(not self.is_cut(one) and one.past & forked for one in self.kind("complete"))

    def forked(self):
        seen, twice = set(), set()
        for entry in self.entries:
            (twice if (entry.dev, entry.seq) in seen else seen).add((entry.dev, entry.seq))
        return {device for device, _ in twice}

    # E7
    def waiting_for(self):
        """The devices whose word is missing until the status is final; a pending thread is never final."""
        status, create = self.status, self.thread.create
        if status == "pending":
            adding = [wrap for wrap in self.kind("wrap") if wrap.side == "recipient" and wrap.ctl["adds"] is not None]
            added = {wrap.ctl["adds"] for wrap in adding if not self.is_void(wrap) and not self.is_cut(wrap)}
            return set(create.ctl["recipients"]) | added
        if status == "accepted":
            seen = any(x.side == "sender" and accept.id in x.past for x in self.entries for accept in self.accepts())
            return set() if seen else {create.dev}
        if status == "cancelled":
            cancels = [one for one in self.order() if one.kind == "cancel"]
            return min((self.missing_for(cancel) for cancel in cancels), key=len)
        return self.missing_for_complete()

    def knows(self, device, entry):
        """The device wrote the entry, or something that has it in its past."""
        return any(own is entry or entry.id in own.past for own in self.by(device))

    def settled(self, cancel):
        adding = [wrap for wrap in self.kind("wrap") if wrap.side == "sender" and wrap.ctl["adds"] is not None]

        def is_settled(fence):
            if fence.side != "sender" or cancel.id not in fence.past:
                return False
            added = [wrap.ctl["adds"] for wrap in adding if fence.id not in wrap.past]
            return all(self.knows(device, fence) for device in self.thread.create.ctl["senders"] + added)

        return [fence for fence in self.kind("fence") if is_settled(fence)]

    def missing_for(self, cancel):
        fences = self.settled(cancel)
        under = self.under(fences)
        devices = set(self.thread.create.ctl["recipients"])
        for wrap in self.kind("wrap"):
            if wrap.side == "recipient" and wrap.ctl["adds"] is not None and cancel.id not in wrap.past:
                if not under.is_void(wrap) and not under.is_cut(wrap):
                    devices.add(wrap.ctl["adds"])
        fenced = {fence.ctl["device"] for fence in fences}
        silent = {d for d in devices - fenced if not any(cancel.id in own.past for own in self.by(d))}
        return silent | {accept.dev for accept in under.accepts()}

    def missing_for_complete(self):
        create, unfenced = self.thread.create, self.under([])
        lead, completes = self.lead(self.completes()), unfenced.completes()
        fenced = {fence.ctl["device"] for fence in self.kind("fence")}

        def after(entry):
            return any(entry is complete or complete.id in entry.past for complete in completes)

        reached = set(create.ctl["recipients"]) - fenced
        adding = [wrap for wrap in self.kind("wrap") if wrap.side == "recipient" and wrap.ctl["adds"] is not None]
        adding = [wrap for wrap in adding if not unfenced.is_void(wrap) and wrap.ctl["adds"] not in fenced]
        while True:
            more = {
                wrap.ctl["adds"]
                for wrap in adding
                if wrap.id in lead.past
                or (wrap.dev in reached and all(wrap.id in own.past for own in self.by(wrap.dev) if after(own)))
            }
            if more <= reached:
                break
            reached |= more
        missing = {device for device in reached if not any(after(own) for own in self.by(device))}
        if not any(lead.id in own.past for own in self.by(create.dev)):
            missing.add(create.dev)
        return missing

    def tell(self):
        """The state as the vectors write it."""
        status, order, waiting = self.status, self.order(), self.waiting_for()
        lead = [self.lead(self.accepts()), self.lead(self.completes())]
        lead = [None if one is None else one.id for one in lead]
        voidable = [one for one in self.kind("accept", "wrap") if one.kind == "accept" or one.ctl["adds"] is not None]
        void = sorted(one.id for one in voidable if self.is_void(one))
        cut = sorted(one.id for one in self.entries if self.is_cut(one))
        late = sorted(one.id for one in self.late())
        named = {parent for one in self.entries for parent in one.parents}
        return {
            "status": status,
            "final": status != "pending" and not waiting,
            "waiting_for": hexes(waiting),
            "lead": {"accept": text(lead[0]), "complete": text(lead[1])},
            "conflicting": len(self.completes()) > 1,
            "repudiated": self.repudiated(),
            "void": hexes(void),
            "cut": hexes(cut),
            "late": hexes(late),
            "forked": hexes(self.forked()),
            "numbers": [[one.id.hex(), one.number] for one in order if one.number is not None],
            "order": [one.id.hex() for one in order],
            "heads": hexes(self.ids - named),
            "record_heads": hexes(self.thread.record_heads(self.ids)),
            "verdict": self.verdict,
            "digest": digest("digest", [sorted(self.ids), status, lead, void, cut, late]).hex(),
        }


def text(name):
    return None if name is None else name.hex()


def hexes(ids):
    return [name.hex() for name in sorted(ids)]


def receive(envelopes, roster, unsigned=frozenset()):
    """Takes entries in as they come: threads by id, refusals by position, and the positions of what still waits."""
    threads, refused, refused_ids, waiting = {}, {}, set(), []
    for position, envelope in envelopes:
        if position in unsigned:
            continue
        try:
            entry = open_entry(envelope)
        except Refused as no:
            refused[position] = str(no)
            continue
        waiting.append((position, entry))
        moved = True
        while moved:
            moved, still = False, []
            for position_of, one in waiting:
                thread = threads.setdefault(one.thread, Thread())
                elsewhere = {n for key, other in threads.items() if key != one.thread for n in other.entries}
                try:
                    if one.id not in thread.entries:
                        thread.judge(one, roster, refused_ids, elsewhere)
                        thread.store(one)
                    moved = True
                except Refused as no:
                    refused[position_of] = str(no)
                    refused_ids.add(one.id)
                    moved = True
                except Waits:
                    still.append((position_of, one))
            waiting = still
    return threads, refused, sorted(position for position, _ in waiting)


# ---------------------------------------------------------------- the checks


def check_history(vector):
    roster = Roster(unhex(one) for one in vector["context"]["roster"])
    expected = {key: value for key, value in vector["expected"].items() if key not in ("bodies", "wraps")}
    arrivals = list(enumerate(unhex(one) for one in vector["input"]["entries"]))
    # Signatures are taken on the vector's word.
    unsigned = {position for position, name in expected["refused"] if name == "bad_signature"}
    for way in (arrivals, arrivals[::-1]):
        threads, refused, waiting = receive(way, roster, unsigned)
        refused.update({position: "bad_signature" for position in unsigned})
        thread = threads.get(bytes.fromhex(vector["input"]["thread"]))
        stored = thread is not None and thread.entries
        told = Outcome(thread, thread.entries).tell() if stored else {"status": None}
        told.update(refused=[list(pair) for pair in sorted(refused.items())])
        # Of what arrived twice and waits, either copy may be the one that does.
        told.update(waiting=waiting)
        for key in expected.keys() | told.keys():
            if told.get(key) != expected.get(key):
                order = "" if way is arrivals else " (arrived backwards)"
                raise AssertionError(f"{key}{order}: {told.get(key)} and not {expected.get(key)}")


def try_authorize(given, context):
    roster = Roster(unhex(one) for one in context["roster"])
    threads, refused, elsewhere = {}, set(), set()
    for one in context.get("elsewhere", []):
        elsewhere.add(open_entry(unhex(one)).id)

    def judge(envelope, versions=(1,)):
        entry = open_entry(unhex(envelope), versions)
        thread = threads.setdefault("the one", Thread())
        thread.judge(entry, roster, refused, elsewhere)
        return thread, entry

    for one in context["stored"]:
        thread, entry = judge(one)
        thread.store(entry)
    for one in context.get("refused", []):
        try:
            judge(one)
            raise AssertionError("what was refused before is not")
        except Refused:
            refused.add(open_entry(unhex(one)).id)
    judge(given["envelope"], tuple(context.get("versions", [1])))


TRIED = {
    "decode_canonical": lambda given, context: decode(unhex(given["bytes"])),
    "open_entry": lambda given, context: open_entry(unhex(given["envelope"])),
    "parse_artifact": lambda given, context: artifact_id(from_json(given["artifact"])),
    "authorize": try_authorize,
    "admit_roster_entry": lambda given, context: Roster(unhex(one) for one in context["roster"]).admit(
        unhex(given["envelope"])
    ),
}


def outcome(vector, given, context):
    try:
        TRIED[vector["check"]](given, context)
        return None
    except Refused as no:
        return str(no)


def repaired(fields, changes):
    return {key: value for key, value in {**fields, **changes}.items() if not (key in changes and value is None)}


def is_plain_fault(vector):
    """True where a refusal that is mostly about signatures needs none: a wrong successor, a proof that is not there."""
    if vector["check"] != "admit_roster_entry":
        return False
    header = decode(decode(unhex(vector["input"]["envelope"]))[0])
    if header["kind"] == "handover":
        return vector["expected"]["refusal"] == "roster_author"
    return header["kind"] == "add-device" and (header["ctl"]["invite"] is None) != (
        header["ctl"]["invite_signature"] is None
    )


def check_refusal(vector):
    given, context, twin = vector["input"], vector["context"], vector["repaired"]
    expected, found = vector["expected"]["refusal"], outcome(vector, given, context)
    mended = outcome(vector, repaired(given, twin.get("input", {})), repaired(context, twin.get("context", {})))
    if mended is not None:
        raise AssertionError(f"repaired, it is refused as {mended}")
    if found is None and expected in BY_SIGNATURE and not is_plain_fault(vector):
        return False
    if found != expected:
        raise AssertionError(f"refused as {found} and not as {expected}")
    return True


# ---------------------------------------------------------------- artifacts (spec/artifact.md)

CHUNK_BYTES = 262140
CONTENT = {"file_diff": "diff", "api_contract": "inline", "file": "bytes"}
CHUNKED = is_map(size=is_uint, sha256=ID, key=ID, ids=is_list(ID, 1, 4096))


def is_chunked(value):
    return CHUNKED(value) and value["size"] > 0 and len(value["ids"]) == -(-value["size"] // CHUNK_BYTES)


def is_line(value):
    return is_text(value) and value != ""


# Labels that have to be there, those that may be, and whether content has to be there.
ARTIFACTS = {
    "file_diff": ({"path"}, {"repo", "base_commit"}, True),
    "file_ref": ({"path"}, {"git_sha", "lines"}, False),
    "test_command": ({"command"}, {"cwd"}, False),
    "api_contract": (set(), {"schema_url"}, False),
    "link": ({"url"}, {"title"}, False),
    "file": ({"name", "media_type"}, set(), True),
}


def is_artifact(value):
    if not isinstance(value, dict) or value.get("type") not in ARTIFACTS:
        return False
    needed, optional, has_content = ARTIFACTS[value["type"]]
    field = CONTENT.get(value["type"])
    labels = set(value) - {"type", field, "chunks"}
    places = [key for key in (field, "chunks") if key in value]
    if field is None and "chunks" in value:
        return False
    if not needed <= labels <= needed | optional or len(places) > 1 or (has_content and not places):
        return False
    if not all(is_line(value[key]) for key in needed) or not all(is_text(value[key]) for key in labels - needed):
        return False
    is_content = {"chunks": is_chunked, "bytes": is_bytes()}
    return all(is_content.get(key, is_text)(value[key]) for key in places)


def artifact_id(value):
    if not is_artifact(value):
        refuse("schema")
    field = CONTENT.get(value["type"])
    content = value.get(field)
    if "chunks" in value:
        found = value["chunks"]["sha256"]
    elif content is None:
        found = None
    else:
        found = hashlib.sha256(content if isinstance(content, bytes) else content.encode("utf-8")).digest()
    labels = {key: inner for key, inner in value.items() if key not in (field, "chunks")}
    return digest("artifact", [labels, found])


def make_content(given):
    content, key = unhex(given["content"]), unhex(given["key"])
    count = -(-len(content) // CHUNK_BYTES)
    return {
        "size": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
        "keys": [hkdf(key, b"", "chunk", [index, count]).hex() for index in range(count)],
    }


def signed(purpose):
    def make(given):
        data = encode(from_json(given["header"]))
        return {"header": data.hex(), "id": digest(purpose + "-id", [data]).hex()}

    return make


def make_hashes(given):
    purpose, parts, key, salt = given["purpose"], from_json(given["parts"]), unhex(given["key"]), unhex(given["salt"])
    return {
        "tagged": tagged(purpose, parts).hex(),
        "hash": digest(purpose, parts).hex(),
        "mac": mac(key, purpose, parts).hex(),
        "derived": hkdf(key, salt, purpose, parts).hex(),
    }


def make_thread_commit(given):
    place = [bytes.fromhex(given[key]) for key in ("ws", "author")]
    prev = None if given["prev"] is None else bytes.fromhex(given["prev"])
    return {"commit": hkdf(unhex(given["key"]), bytes.fromhex(given["nonce"]), "commit", [*place, prev]).hex()}


def make_workspace_commit(given):
    key, epoch = unhex(given["key"]), given["epoch"]
    return {
        "commit": hkdf(key, bytes.fromhex(given["nonce"]), "commit", [epoch]).hex(),
        "topic": "relay-node/" + hkdf(key, b"", "topic", [epoch]).hex()[:32],
    }


def make_action(given):
    data = encode(from_json(given["action"]))
    key = hkdf(unhex(given["key"]), bytes.fromhex(given["nonce"]), "action-key", [])
    return {"bytes": data.hex(), "action": mac(key, "action", [data]).hex()}


def make_digests(given):
    pairs = []
    for one in given["threads"]:
        heads = sorted(bytes.fromhex(name) for name in one["heads"])
        pairs.append((bytes.fromhex(one["thread"]), digest("heads", [heads])))
    buckets = b""
    for bucket in range(256):
        inside = sorted([thread, found] for thread, found in pairs if thread[0] == bucket)
        buckets += digest("bucket", inside)[:8] if inside else bytes(8)
    prekeys = digest("prekeys", [sorted(bytes.fromhex(name) for name in given["prekeys"])])
    return {"heads": [found.hex() for _, found in pairs], "buckets": buckets.hex(), "prekeys": prekeys.hex()}


def make_proof(given):
    key = hkdf(unhex(given["secret"]), b"", "invite-owner", [])
    parts = [bytes.fromhex(given[name]) for name in ("ws", "invite", "owner", "device", "nonce")]
    return {"proof": mac(key, "join-owner", parts).hex()}


def make_code(given):
    secret = unhex(given["secret"])
    return {
        "owner_proof_key": hkdf(secret, b"", "invite-owner", []).hex(),
        "rendezvous": hkdf(secret, b"", "invite-tag", []).hex()[:20],
    }


PREFIXES = {"thread": "ho", "revision": "rev", "message": "msg", "artifact": "art", "annotation": "ann"}
PREFIXES.update(workspace="ws", device="dev", invite="inv", entry="ent")


def make_text_id(given):
    base32 = base64.b32encode(bytes.fromhex(given["id"])[:16]).decode("ascii").lower().rstrip("=")
    return {"text": f"{PREFIXES[given['sort']]}_{base32}"}


# What a vector's expected side has of this is compared; what needs a signature or a seal is left out.
MADE = {
    "encode_canonical": lambda given: {"bytes": encode(from_json(given["value"])).hex()},
    "hash_parts": make_hashes,
    "sign_entry": signed("entry"),
    "sign_roster_entry": signed("roster"),
    "wrap_thread_key": make_thread_commit,
    "wrap_workspace_key": make_workspace_commit,
    "seal_body": lambda given: {"plain": encode(from_json(given["body"])).hex()},
    "action_mac": make_action,
    "artifact_id": lambda given: {"id": artifact_id(from_json(given["artifact"])).hex()},
    "seal_content": make_content,
    "encode_sync": lambda given: {"frame": encode(from_json(given["message"])).hex()},
    "encode_gossip": lambda given: {"frame": encode(from_json(given["message"])).hex()},
    "encode_join": lambda given: {"frame": encode(from_json(given["message"])).hex()},
    "digest_sets": make_digests,
    "prove_owner": make_proof,
    "make_code": make_code,
    "name_id": make_text_id,
}


def check_made(vector):
    for key, value in MADE[vector["check"]](vector["input"]).items():
        expected = vector["expected"][key]
        if isinstance(value, str) and re.fullmatch(r"[0-9a-f(*)]*", expected):
            expected = unhex(expected).hex()
        if value != expected:
            raise AssertionError(f"{key}: {value} and not {expected}")
    if vector["check"] == "encode_canonical":
        data = unhex(vector["expected"]["bytes"])
        if encode(decode(data)) != data:
            raise AssertionError("the bytes do not read back")
    if vector["check"] == "sign_entry":
        open_entry(unhex(vector["expected"]["envelope"]))


def check(vector):
    """True if the vector was read; an AssertionError if the reader differs from it."""
    if vector["check"] == "history":
        check_history(vector)
    elif "repaired" in vector and vector["check"] in TRIED:
        return check_refusal(vector)
    elif vector["check"] in MADE:
        check_made(vector)
    else:
        return False
    return True


def main(given):
    places = [Path(one) for one in given] or [Path(__file__).resolve().parent]
    files = sorted(file for place in places for file in (place.rglob("*.json") if place.is_dir() else [place]))
    passed = failed = unread = 0
    for file in files:
        try:
            if check(json.loads(file.read_text(encoding="utf-8"))):
                passed += 1
            else:
                unread += 1
        except Exception as wrong:  # whatever goes wrong with a vector is a failure of it
            failed += 1
            print(f"{file.parent.name}/{file.name}: {type(wrong).__name__} {wrong}")
    print(f"{unread} vectors not read: they need Ed25519, X25519, ChaCha20-Poly1305 or Bech32")
    print(f"{passed} passed, {failed} failed")
    # A reader that saw nothing has not passed.
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
