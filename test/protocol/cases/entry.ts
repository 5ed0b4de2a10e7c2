/** Refusals of an entry's bytes and signature (rule S1 and the first half of S2). */
import { decodeCanonical, encodeCanonical, type Entry, hash, sign, type Value } from '../../../protocol/index.ts'
import { encodeHeader } from '../../../protocol/entry.ts'
import { acme, begin, bob, CLOCK_MS, frank, mallory, seedOf, type Story, wrapFor } from '../../cast.ts'
import { decoded, opened } from '../vector-exhibits.ts'
import { refusalCase, type RefusalCase } from './refusal-case.ts'

const workspace = acme()

/** The plain value of an entry's header. */
export function valueOf(entry: Entry): { readonly [key: string]: Value } {
  const value = decodeCanonical(encodeHeader(entry.header), { bytesMax: 8192 })
  if (!value.ok) throw new Error(value.refusal)
  return value.value as { readonly [key: string]: Value }
}

/** Signs a header of any shape, as a liar would, and opens the result. */
function openSigned(header: Value | Uint8Array, who = frank) {
  const bytes = header instanceof Uint8Array ? header : encodeCanonical(header)
  return opened(encodeCanonical([bytes, sign(who.key, 'entry', [bytes])]))
}

function message(story: Story = begin({ workspace })) {
  return valueOf(story.draft(frank, 'message'))
}

function proposal(action: string | null) {
  return begin({ workspace }).draft(bob, 'create', { intent: 'propose_action', action }, { past: [] })
}

const ids = [seedOf('a'), seedOf('b'), seedOf('c')].toSorted((a, b) => Buffer.compare(a, b))

function nested(levels: number): Value {
  return levels === 0 ? null : [nested(levels - 1)]
}

export const ENTRY_CASES: readonly RefusalCase[] = [
  refusalCase('oversize', 'a header of more than 8 KiB', (wrong) => {
    const wraps = Array.from({ length: wrong ? 64 : 48 }, () => wrapFor(bob.device))
    return opened(begin({ workspace }).draft(bob, 'wrap', { wraps }).envelope)
  }),
  refusalCase('too_deep', 'nine levels', (wrong) => decoded(encodeCanonical(nested(wrong ? 9 : 8)))),
  refusalCase('too_deep', 'a header with nine levels', (wrong) =>
    openSigned({ ...message(), ctl: wrong ? { a: nested(7) } : {} }),
  ),
  refusalCase('too_many_keys', 'a map of 33 keys', (wrong) => {
    const entries = Array.from({ length: wrong ? 33 : 32 }, (_, i) => [`k${i}`, i] as const)
    return decoded(encodeCanonical(Object.fromEntries(entries)))
  }),
  refusalCase('not_canonical', 'a number written with more bytes than it needs', (wrong) =>
    decoded(Uint8Array.from(wrong ? [0x18, 0x17] : [0x17])),
  ),
  refusalCase('not_canonical', 'a header with a byte after its end', (wrong) => {
    const bytes = encodeCanonical(message())
    return openSigned(wrong ? Uint8Array.from([...bytes, 0]) : bytes)
  }),
  refusalCase('unknown_version', 'version 2', (wrong) => openSigned({ ...message(), v: wrong ? 2 : 1 })),
  refusalCase('unknown_version', 'version 2, whatever its header looks like', (wrong) =>
    openSigned(wrong ? { ...message(), v: 2, more: true } : message()),
  ),
  refusalCase('unknown_kind', 'a kind that does not exist', (wrong) =>
    openSigned({ ...message(), kind: wrong ? 'reject' : 'message' }),
  ),
  refusalCase('unknown_kind', 'a kind named like a property of every object', (wrong) =>
    openSigned({ ...message(), kind: wrong ? 'constructor' : 'message' }),
  ),
  refusalCase('schema', 'one key too many', (wrong) => openSigned(wrong ? { ...message(), note: 'hello' } : message())),
  refusalCase('schema', 'one key too few', (wrong) => {
    const { ts, ...rest } = message()
    return openSigned(wrong ? rest : { ...rest, ts: ts ?? CLOCK_MS })
  }),
  refusalCase('schema', 'an argument that its kind does not have', (wrong) =>
    openSigned({ ...message(), ctl: wrong ? { to: 1 } : {} }),
  ),
  refusalCase('schema', 'bytes without content in place of a map without keys', (wrong) =>
    openSigned({ ...message(), ctl: wrong ? new Uint8Array(0) : {} }),
  ),
  refusalCase('schema', 'an id of 31 bytes', (wrong) =>
    openSigned({ ...message(), th: seedOf('x').subarray(wrong ? 1 : 0) }),
  ),
  refusalCase('schema', 'a negative clock', (wrong) => openSigned({ ...message(), ts: wrong ? -1 : 1 })),
  refusalCase('schema', 'no thread, and no create', (wrong) =>
    openSigned({ ...message(), th: wrong ? null : seedOf('x') }),
  ),
  refusalCase('schema', 'number 1 without a predecessor', (wrong) => openSigned({ ...message(), seq: wrong ? 1 : 0 })),
  refusalCase('schema', 'a body whose size is no padded size', (wrong) => {
    const body = { h: seedOf('h'), n: wrong ? 273 : 272, key: seedOf('k'), iv: seedOf('iv') }
    return openSigned({ ...message(), body })
  }),
  refusalCase('schema', 'a body under no key', (wrong) => {
    const body = { h: seedOf('h'), n: 272, key: wrong ? null : seedOf('k'), iv: seedOf('iv') }
    return openSigned({ ...message(), body })
  }),
  refusalCase('schema', 'more than 16 deps', (wrong) => {
    const deps = Array.from({ length: wrong ? 17 : 16 }, (_, i) => new Uint8Array(32).fill(i))
    return openSigned({ ...message(), deps })
  }),
  refusalCase('body_presence', 'a message without a body', (wrong) =>
    openSigned(wrong ? { ...message(), body: null } : message()),
  ),
  refusalCase('body_presence', 'an ack with a body', (wrong) => {
    const ack = valueOf(begin({ workspace }).draft(frank, 'ack'))
    return openSigned(wrong ? { ...ack, body: message().body ?? null } : ack)
  }),
  refusalCase('lists_unsorted', 'deps out of order', (wrong) =>
    openSigned({ ...message(), deps: wrong ? ids.toReversed() : ids }),
  ),
  refusalCase('lists_unsorted', 'a dep named twice', (wrong) => {
    const [a = seedOf('a'), b = seedOf('b')] = ids
    return openSigned({ ...message(), deps: wrong ? [a, a] : [a, b] })
  }),
  refusalCase('lists_unsorted', 'lack out of order', (wrong) => {
    const ack = valueOf(begin({ workspace }).draft(frank, 'ack'))
    return openSigned({ ...ack, ctl: { lack: wrong ? ids.toReversed() : ids } })
  }),
  refusalCase('lists_unsorted', 'base out of order', (wrong) => {
    const revise = valueOf(begin({ workspace }).draft(frank, 'revise'))
    return openSigned({ ...revise, ctl: { base: wrong ? ids.toReversed() : ids } })
  }),
  refusalCase('action_presence', 'an action proposed and not named', (wrong) =>
    opened(proposal(wrong ? null : hash('action', [])).envelope),
  ),
  refusalCase('action_presence', 'an action named and not proposed', (wrong) => {
    const story = begin({ workspace })
    return opened(story.draft(bob, 'create', { action: wrong ? hash('action', []) : null }, { past: [] }).envelope)
  }),
  refusalCase('bad_signature', 'signed by another device', (wrong) => openSigned(message(), wrong ? mallory : frank)),
  refusalCase('bad_signature', 'the signature of another purpose', (wrong) => {
    const bytes = encodeCanonical(message())
    return opened(encodeCanonical([bytes, sign(frank.key, wrong ? 'roster' : 'entry', [bytes])]))
  }),
]
