/** Lists and headers at their bounds: one more is refused. */
import { encodeCanonical, HEADER_SIZE_BYTES_MAX, type Kind, sign, type Value } from '../../protocol/index.ts'
import { begin, bob, frank, seedOf, type Story } from '../cast.ts'
import { valueOf } from './cases/entry.ts'
import { refusalCase, type RefusalCase } from './cases/refusal-case.ts'
import { opened } from './vector-exhibits.ts'
import { team } from './vector-history.ts'

const workspace = team([frank])

type Plain = { readonly [key: string]: Value }

function ids(count: number): Uint8Array[] {
  return Array.from({ length: count }, (_, i) => new Uint8Array(32).fill(i))
}

/** An array head, three times 32 bytes with two before them, and 48 with two before them. */
const WRAP_BYTES = 1 + 3 * 34 + 50

function wraps(count: number): Value[] {
  return ids(count).map((id) => [id, id, id, new Uint8Array(48)])
}

function older(count: number): Value[] {
  return ids(count).map((id) => [id, new Uint8Array(48)])
}

function headerOf(story: Story, kind: Kind): Plain {
  return valueOf(kind === 'create' ? story.create : story.draft(bob, kind))
}

function openBobs(header: Plain) {
  const bytes = encodeCanonical(header)
  return opened(encodeCanonical([bytes, sign(bob.key, 'entry', [bytes])]))
}

/** A header of `kind` in which these public arguments stand in place of the true ones. */
function stating(kind: Kind, ctl: Plain) {
  const header = headerOf(begin({ workspace }), kind)
  return openBobs({ ...header, ctl: { ...(header['ctl'] as Plain), ...ctl } })
}

const BOUNDS: readonly (readonly [what: string, kind: Kind, wrong: Plain, right: Plain])[] = [
  ['a create without sender devices', 'create', { senders: [] }, { senders: ids(1) }],
  ['nine sender devices', 'create', { senders: ids(9) }, { senders: ids(8) }],
  ['a create without recipient devices', 'create', { recipients: [] }, { recipients: ids(1) }],
  ['nine recipient devices', 'create', { recipients: ids(9) }, { recipients: ids(8) }],
  ['seventeen wraps in a create', 'create', { wraps: wraps(17) }, { wraps: wraps(16) }],
  ['nine devices in a share', 'share', { devices: ids(9) }, { devices: ids(8) }],
  ['nine wraps in a share', 'share', { wraps: wraps(9) }, { wraps: wraps(8) }],
  ['a revise of no base', 'revise', { base: [] }, { base: ids(1) }],
  ['seventeen bases', 'revise', { base: ids(17) }, { base: ids(16) }],
  ['thirty-three lacks', 'ack', { lack: ids(33) }, { lack: ids(32) }],
  ['thirty-three older keys', 'wrap', { older: older(33) }, { older: older(32) }],
  ['an outcome that does not exist', 'complete', { outcome: 'failed' }, { outcome: 'partial' }],
  ['a verdict that does not exist', 'approve', { verdict: 'maybe' }, { verdict: 'rejected' }],
  ['an intent that does not exist', 'create', { intent: 'demand' }, { intent: 'ask_question' }],
]

/** A wrap whose header is exactly as large as it may be, or larger by the one byte that its clock takes. */
function fullHeader(wrong: boolean) {
  const header = headerOf(begin({ workspace }), 'wrap')
  const ctl = header['ctl'] as Plain
  const ros = (header['ros'] as readonly Value[]).at(1) ?? null
  // Wraps and deps alone come in steps of 17 bytes; these numbers take one to nine.
  const numbers = [1, 24, 256, 65_536, 4_294_967_296]
  const places = numbers.flatMap((seq) =>
    numbers.flatMap((position) => [23, 255, 65_535].map((ts) => ({ seq, position, ts }))),
  )
  for (const { seq, position, ts } of places)
    for (let deps = 0; deps < 9; deps++) {
      const sized = (wrapped: number) => {
        const lists = { deps: ids(deps), ctl: { ...ctl, wraps: wraps(wrapped) } }
        return { ...header, ...lists, seq, prev: seedOf('prev'), ros: [position, ros], ts }
      }
      const rest = HEADER_SIZE_BYTES_MAX - encodeCanonical(sized(40)).length
      if (rest >= 0 && rest % WRAP_BYTES === 0) {
        const full = sized(40 + rest / WRAP_BYTES)
        return openBobs(wrong ? { ...full, ts: ts + 1 } : full)
      }
    }
  throw new Error('no header has exactly that size')
}

export const BOUND_CASES: readonly RefusalCase[] = [
  ...BOUNDS.map(([what, kind, wrong, right]) =>
    refusalCase('schema', what, (isWrong) => stating(kind, isWrong ? wrong : right)),
  ),
  refusalCase('schema', 'a number of more than 2^53 - 1 written as bytes', (wrong) =>
    openBobs({ ...headerOf(begin({ workspace }), 'ack'), ts: wrong ? seedOf('ts').subarray(0, 8) : 2 ** 53 - 1 }),
  ),
  refusalCase('oversize', 'a header of one byte more than 8 KiB', fullHeader),
]
