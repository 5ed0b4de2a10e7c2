import { describe, expect, test } from 'vitest'
import {
  actionMac,
  BODY_CONTENT_SIZE_BYTES_MAX,
  type BodyKind,
  type BodyOf,
  commitThreadKey,
  decodeAction,
  encodeAction,
  encodeBody,
  encodeCanonical,
  type Entry,
  hash,
  isBodyOf,
  type Kind,
  openBody,
  openEntry,
  openOlderKey,
  prekeyPublic,
  sealBody,
  sealOlderKey,
  signEntry,
  unwrapThreadKey,
  wrapThreadKey,
} from '../../protocol/index.ts'
import { acme, type Actor, begin, bob, dice, frank, mallory, seedOf, type Story } from '../cast.ts'

const KEY = seedOf('thread key')
const workspace = acme()

/** An entry of `kind` with the body sealed in it. */
function sealed<K extends BodyKind>(
  story: Story,
  who: Actor,
  kind: K,
  body: BodyOf<K>,
): { entry: Entry; bytes: Uint8Array } {
  return sealedBytes(story, who, kind, encodeBody(kind, body))
}

function sealedBytes(story: Story, who: Actor, kind: Kind, plain: Uint8Array): { entry: Entry; bytes: Uint8Array } {
  const draft = story.draft(who, kind).header
  const { header, sealed: bytes } = sealBody(draft, plain, { key: KEY, keyId: story.create.id, iv: dice('iv')(32) })
  return { entry: signEntry(header, who.key), bytes }
}

const hello = { body: 'hello', artifacts: [] }

describe('a body', () => {
  test('opens to what was sealed, for whoever holds the thread’s key', () => {
    const story = begin({ workspace })
    const body: BodyOf<'message'> = {
      body: 'look',
      payload: '{"a":1.5}',
      artifacts: [{ type: 'file_diff', path: 'a.py', diff: '\uFEFF+x\n' }],
    }
    const { entry, bytes } = sealed(story, frank, 'message', body)
    expect(openEntry(entry.envelope).ok).toBe(true)
    expect(isBodyOf(entry, bytes)).toBe(true)
    expect(openBody(entry, 'message', bytes, KEY)).toEqual({ ok: true, value: body })
    expect(openBody(entry, 'message', bytes, seedOf('other'))).toMatchObject({ refusal: 'seal_broken' })
  })

  test('cut from one entry does not open in another, though the key is the same', () => {
    const story = begin({ workspace })
    const one = sealed(story, frank, 'message', hello)
    const facts = one.entry.header.body
    const stolen = signEntry({ ...story.draft(mallory, 'message').header, body: facts }, mallory.key)
    const moved = signEntry({ ...one.entry.header, seq: 1, prev: one.entry.id }, frank.key)
    const told = signEntry({ ...one.entry.header, ts: 0 }, frank.key)
    for (const entry of [stolen, moved, told]) {
      expect(isBodyOf(entry, one.bytes)).toBe(true)
      expect(openBody(entry, 'message', one.bytes, KEY)).toMatchObject({ refusal: 'seal_broken' })
    }
  })

  test('is known by size and hash before anything is opened', () => {
    const { entry, bytes } = sealed(begin({ workspace }), frank, 'message', hello)
    expect(isBodyOf(entry, bytes.subarray(1))).toBe(false)
    expect(isBodyOf(entry, new Uint8Array(bytes.length))).toBe(false)
  })

  test('of another shape than its kind’s is refused', () => {
    const story = begin({ workspace })
    const wrong = sealedBytes(story, frank, 'message', encodeCanonical({ body: 'x' }))
    expect(openBody(wrong.entry, 'message', wrong.bytes, KEY)).toMatchObject({ refusal: 'schema' })
    const junk = sealedBytes(story, frank, 'message', Uint8Array.of(0xff))
    expect(openBody(junk.entry, 'message', junk.bytes, KEY)).toMatchObject({ refusal: 'not_canonical' })
    const ack = story.draft(frank, 'ack')
    expect(openBody(ack, 'message', wrong.bytes, KEY)).toMatchObject({ refusal: 'body_presence' })
  })

  test('is padded, so that its size says little', () => {
    const story = begin({ workspace })
    const sizes = ['', 'x'.repeat(200), 'x'.repeat(300), 'x'.repeat(2000)].map(
      (body) => sealed(story, frank, 'message', { body, artifacts: [] }).bytes.length,
    )
    expect(sizes).toEqual([272, 272, 1040, 4112])
  })

  test('may be as large as the largest padded size and not a byte larger', () => {
    const story = begin({ workspace })
    const overhead = encodeBody('message', { body: 'x'.repeat(70_000), artifacts: [] }).length - 70_000
    const body = 'x'.repeat(BODY_CONTENT_SIZE_BYTES_MAX - overhead)
    const { entry, bytes } = sealed(story, frank, 'message', { body, artifacts: [] })
    expect(openBody(entry, 'message', bytes, KEY).ok).toBe(true)
    expect(() => sealed(story, frank, 'message', { body: `${body}x`, artifacts: [] })).toThrow(RangeError)
  })

  test('leaves out what is undefined', () => {
    const artifacts = [{ type: 'link' as const, url: 'https://example.org', title: undefined }]
    expect(encodeBody('message', { body: '', payload: undefined, artifacts })).toEqual(
      encodeBody('message', { body: '', artifacts: [{ type: 'link', url: 'https://example.org' }] }),
    )
  })
})

describe('a thread key', () => {
  const place = { ws: workspace.ws, nonce: hash('payload', ['nonce']), author: bob.device }

  test('wrapped to a prekey opens with its seed', async () => {
    const to = {
      device: frank.device,
      prekey: hash('prekey-id', []),
      x25519: await prekeyPublic(frank.prekeySeed),
      ekm: dice('ekm')(32),
    }
    const wrap = await wrapThreadKey(KEY, place, to)
    expect(await wrapThreadKey(KEY, place, to)).toEqual(wrap)
    expect(await unwrapThreadKey(wrap, place, frank.prekeySeed)).toEqual({ ok: true, value: KEY })
    const [, prekey, enc, ct] = wrap
    expect(await unwrapThreadKey([mallory.device, prekey, enc, ct], place, frank.prekeySeed)).toMatchObject({
      refusal: 'wrap_unopenable',
    })
  })

  test('another key behind one ciphertext does not match the commitment', () => {
    const options = { nonce: place.nonce, ws: place.ws, device: bob.device, prev: null }
    const commit = commitThreadKey(KEY, options)
    expect(commitThreadKey(seedOf('second opening'), options)).not.toBe(commit)
    expect(commitThreadKey(KEY, { ...options, device: mallory.device })).not.toBe(commit)
    expect(commitThreadKey(KEY, { ...options, prev: commit })).not.toBe(commit)
    expect(commitThreadKey(KEY, { ...options, nonce: commit })).not.toBe(commit)
  })

  test('seals an older one for whoever comes later', () => {
    const id = hash('entry-id', [])
    const older = sealOlderKey(KEY, seedOf('older'), id)
    expect(openOlderKey(KEY, older, id)).toEqual({ ok: true, value: seedOf('older') })
    expect(openOlderKey(seedOf('other'), older, id)).toMatchObject({ refusal: 'seal_broken' })
  })
})

describe('a proposed action', () => {
  const action = { description: 'drop the column', target_files: ['a.sql'], rationale: 'unused' }

  test('is compared by a code that only the thread’s devices can make', () => {
    const bytes = encodeAction(action)
    const nonce = hash('payload', ['nonce'])
    expect(decodeAction(bytes)).toEqual({ ok: true, value: action })
    expect(actionMac(KEY, nonce, bytes)).toBe(
      actionMac(KEY, nonce, encodeAction({ ...action, suggested_diff: undefined })),
    )
    expect(actionMac(KEY, nonce, encodeAction({ ...action, rationale: 'Unused' }))).not.toBe(
      actionMac(KEY, nonce, bytes),
    )
    expect(actionMac(seedOf('guess'), nonce, bytes)).not.toBe(actionMac(KEY, nonce, bytes))
  })

  test('that is none is refused', () => {
    expect(decodeAction(Uint8Array.of(0xff))).toMatchObject({ ok: false })
    expect(decodeAction(encodeCanonical({ description: '' }))).toMatchObject({ refusal: 'schema' })
  })
})
