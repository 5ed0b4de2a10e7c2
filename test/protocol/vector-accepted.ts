/** Values, entries and roster entries that are accepted, byte for byte: so that a second implementation can check what it writes. */
import { fromHex, type Hex, type Kind, type Value } from '../../protocol/index.ts'
import { acme, begin, bob, CLOCK_MS, frank, frank2, genesisOf, seedOf, type Story } from '../cast.ts'
import { type Fields, type Json, writeHex, writeValue } from './vector-form.ts'
import { headerIn } from './vector-makes.ts'

export interface AcceptedCase {
  readonly name: string
  readonly title: string
  readonly check: string
  readonly input: Fields
}

const VALUES: readonly (readonly [name: string, title: string, value: Value])[] = [
  ['simple', 'Null, false and true.', [null, false, true]],
  [
    'numbers',
    'Numbers in as few bytes as they need.',
    [0, 23, 24, 255, 256, 65_535, 65_536, 4_294_967_295, 4_294_967_296],
  ],
  ['largest', 'The greatest and the smallest number.', [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]],
  ['negative', 'Negative numbers.', [-1, -24, -25, -256, -257]],
  ['texts', 'Texts: none, ASCII, other scripts, a byte order mark.', ['', 'a', 'Grüße', '日本語', '😀', '\uFEFFx']],
  ['bytes', 'Bytes of several lengths.', [new Uint8Array(0), Uint8Array.of(0), seedOf('bytes'), new Uint8Array(300)]],
  ['key-order', 'Keys in order of their length, then of their bytes.', { b: 1, a: 2, aa: 3, zz: 4, é: 5, c: 6, '': 7 }],
  ['proto', 'A key named like something else in some languages.', { __proto__x: 1, constructor: 2, toString: 3 }],
  ['nesting', 'Eight levels, the most that there may be.', [[[[[[[[1]]]]]]]]],
  [
    'wide',
    'A map of 32 keys, the most that there may be.',
    Object.fromEntries(Array.from({ length: 32 }, (_, i) => [`k${i}`, i])),
  ],
]

const workspace = acme()

/** One entry of each kind, by whom it is for. */
function entriesOfAllKinds(): readonly (readonly [Kind, Story])[] {
  const story = begin({ workspace, create: { intent: 'propose_action', action: '0a'.repeat(32) } })
  const cancelled = begin({ workspace })
  cancelled.say(bob, 'cancel')
  const annotation = story.say(frank, 'annotate')
  story.say(bob, 'resolve', { annotation: annotation.id, revision: story.create.id })
  story.say(bob, 'share')
  story.say(frank, 'wrap', { adds: frank2.device })
  story.say(frank, 'accept')
  story.say(frank, 'approve')
  story.say(bob, 'message')
  story.say(frank, 'revise')
  story.say(bob, 'ack', { lack: [story.create.id] })
  story.say(frank, 'complete')
  const changed = acme()
  const fenced = begin({ workspace: changed })
  changed.write('remove-device', { device: frank.device })
  fenced.say(bob, 'fence', { device: frank.device })
  const kinds = story.entries().map(({ header }) => header.kind)
  return [...kinds.map((kind) => [kind, story] as const), ['cancel', cancelled], ['fence', fenced]]
}

/** The seed of the signing key of one of the cast. */
export function seedFor(device: Hex): string {
  const laptop = [bob, frank, frank2].find((one) => one.device === device)
  if (!laptop) throw new Error('the device is nobody’s')
  return writeHex(seedOf('device', laptop.name))
}

const ENTRIES: readonly AcceptedCase[] = entriesOfAllKinds().flatMap(([kind, story]) => {
  const entry = story.entries().find(({ header }) => header.kind === kind)
  if (!entry) return []
  const input = { seed: seedFor(entry.header.dev), header: headerIn(entry) }
  return [{ name: kind, title: `An entry that says ${kind}.`, check: 'sign_entry', input }]
})

function rosterHeader(kind: string, ctl: { readonly [key: string]: Value }): Json {
  const [position, prev] = workspace.roster().point
  const place = { v: 1, ws: fromHex(workspace.ws), n: position + 1, prev: fromHex(prev) }
  return writeValue({ ...place, kind, ctl, ts: CLOCK_MS })
}

const id32 = seedOf('some id')
const wraps = [[id32, id32, id32, new Uint8Array(48).fill(1)]]
const ROSTER_CTLS: readonly (readonly [kind: string, ctl: { readonly [key: string]: Value }])[] = [
  ['add-member', { name: 'carol', role: 'reader', kind: 'service', invite: id32 }],
  [
    'add-device',
    {
      member: id32,
      device: id32,
      name: 'laptop-2',
      prekey: id32,
      invite: null,
      invite_signature: null,
      device_signature: new Uint8Array(64).fill(2),
      wraps,
    },
  ],
  ['remove-device', { device: id32 }],
  ['remove-member', { member: id32 }],
  ['set-role', { member: id32, role: 'member' }],
  ['invite', { key: id32, name: 'carol', role: 'member', kind: 'person', expires: CLOCK_MS }],
  ['revoke-invite', { invite: id32 }],
  ['rekey', { epoch: 1, commit: id32, wraps }],
  ['set-bootstrap', { addresses: ['/dns4/relay.example/tcp/443/wss'] }],
  ['handover', { key: id32, device: id32, successor: id32 }],
]

const ROSTERS: readonly AcceptedCase[] = [
  {
    name: 'genesis',
    title: 'The first entry of a roster, which names the workspace.',
    check: 'sign_roster_entry',
    input: { seed: seedFor(bob.device), header: headerIn(genesisOf(bob, 'acme')) },
  },
  ...ROSTER_CTLS.map(([kind, ctl]) => ({
    name: kind,
    title: `A roster entry that says ${kind}.`,
    check: 'sign_roster_entry',
    input: { seed: seedFor(bob.device), header: rosterHeader(kind, ctl) },
  })),
]

export const ACCEPTED_STATEMENTS: readonly AcceptedCase[] = [
  ...VALUES.map(([name, title, value]) => ({
    name,
    title,
    check: 'encode_canonical',
    input: { value: writeValue(value) },
  })),
  ...ENTRIES,
  ...ROSTERS,
]
