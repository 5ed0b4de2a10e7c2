import { fc, test as propertyTest } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import {
  encodeCanonical,
  type Entry,
  hash,
  KINDS,
  openEntry,
  parseEntry,
  sign,
  verifyEntry,
} from '../../protocol/index.ts'
import { encodeHeader } from '../../protocol/entry.ts'
import { acme, begin, bob, frank, frank2 } from '../cast.ts'

/** One entry of every kind. */
function oneOfEach(): Entry[] {
  const changing = acme()
  const story = begin({
    workspace: changing,
    recipients: [frank, frank2],
    create: { intent: 'propose_action', action: hash('action', []) },
  })
  const annotation = story.say(bob, 'annotate')
  const revision = story.say(frank, 'revise')
  story.say(bob, 'message')
  story.say(bob, 'share')
  story.say(bob, 'wrap')
  story.say(frank, 'accept')
  story.say(frank, 'approve')
  story.say(frank, 'resolve', { annotation: annotation.id, revision: revision.id })
  story.say(bob, 'ack')
  story.say(frank, 'complete')
  story.say(bob, 'cancel', {}, { past: [story.create] })
  changing.write('remove-device', { device: frank2.device })
  story.say(
    bob,
    'fence',
    { device: frank2.device },
    { past: story.entries().filter((entry) => entry.header.kind === 'cancel') },
  )
  return story.entries()
}

const ENTRIES = oneOfEach()

describe('an entry', () => {
  test('of every kind opens to what was signed', () => {
    expect(new Set(ENTRIES.map((entry) => entry.header.kind))).toEqual(new Set(KINDS))
    for (const entry of ENTRIES) {
      expect(openEntry(entry.envelope)).toEqual({ ok: true, value: entry })
      expect(verifyEntry(entry)).toBe(true)
    }
  })

  test('has an id that leaves the signature out', () => {
    const [create] = ENTRIES as [Entry]
    const header = encodeHeader(create.header)
    const resigned = encodeCanonical([header, sign(frank.key, 'entry', [header])])
    expect(parseEntry(resigned)).toMatchObject({ value: { id: create.id } })
    expect(openEntry(resigned)).toMatchObject({ refusal: 'bad_signature' })
  })

  test('names its thread; a create is named by itself', () => {
    const [create, ...rest] = ENTRIES as [Entry, ...Entry[]]
    expect(create.thread).toBe(create.id)
    for (const entry of rest) expect(entry.thread).toBe(create.id)
  })

  test('is refused where anything but a pair of header and signature stands', () => {
    const header = encodeHeader(ENTRIES[0]?.header ?? ({} as never))
    for (const envelope of [
      [header],
      [header, new Uint8Array(63)],
      [header, new Uint8Array(64), 0],
      ['', new Uint8Array(64)],
      {},
      null,
    ])
      expect(openEntry(encodeCanonical(envelope))).toMatchObject({ refusal: 'schema' })
  })
})

propertyTest.prop([fc.nat(), fc.nat(), fc.integer({ min: 1, max: 255 })], { numRuns: 1500 })(
  'one changed byte of an envelope is refused',
  (which, place, change) => {
    const entry = ENTRIES[which % ENTRIES.length] as Entry
    const bytes = entry.envelope.slice()
    const at = place % bytes.length
    bytes[at] = (bytes[at] ?? 0) ^ change
    expect(openEntry(bytes)).toMatchObject({ ok: false })
  },
)
