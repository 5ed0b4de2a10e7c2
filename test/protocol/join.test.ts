import { expect, test } from 'vitest'
import { encodeCanonical, encodeJoin, JOIN_REFUSALS, type JoinMessage, parseJoin } from '../../protocol/index.ts'

const ID = 'ab'.repeat(32)
const SIGNATURE = 'cd'.repeat(64)
const BYTES = Uint8Array.of(1)

const MESSAGES: readonly JoinMessage[] = [
  { t: 'ask', v: 1, key: ID, device: ID, nonce: ID },
  { t: 'offer', ws: ID, invite: ID, role: 'member', kind: 'person', owner: ID, proof: ID },
  { t: 'claim', device_name: 'laptop', prekey: BYTES, invite_signature: SIGNATURE, device_signature: SIGNATURE },
  { t: 'welcome', roster: [BYTES], prekeys: [], last: true },
  ...JOIN_REFUSALS.map((reason) => ({ t: 'refused' as const, reason })),
]

test.each(MESSAGES)('a $t parses to what was encoded', (message) => {
  expect(parseJoin(encodeJoin(message))).toEqual({ ok: true, value: message })
})

test.each([
  [
    'with a name that could not stand in a handle',
    {
      t: 'claim',
      device_name: 'my laptop',
      prekey: BYTES,
      invite_signature: new Uint8Array(64),
      device_signature: new Uint8Array(64),
    },
  ],
  ['with a reason that is not on the list', { t: 'refused', reason: 'because' }],
  ['with a key too many', { t: 'refused', reason: 'busy', hint: '' }],
  ['of no type', {}],
])('a message %s is refused', (_, value) => {
  expect(parseJoin(encodeCanonical(value))).toMatchObject({ refusal: 'message' })
})
