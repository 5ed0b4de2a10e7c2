/** The checks of vectors that make: the exact bytes that given fields, keys and dice have to give. */
import * as z from 'zod'
import {
  actionMac,
  artifactId,
  bucketDigests,
  commitThreadKey,
  commitWorkspaceKey,
  decodeAction,
  decodeCanonical,
  derive,
  encodeAction,
  encodeCanonical,
  encodeCode,
  encodeGossip,
  encodeJoin,
  encodeSync,
  fromHex,
  hash,
  headsDigest,
  inviteKey,
  mac,
  openBody,
  openChunk,
  openEntry,
  openEnvelope,
  openOlderKey,
  openPrekey,
  ownerProofKey,
  parseCode,
  parseGossip,
  parseJoin,
  parseRosterEntry,
  parseSync,
  parseTextId,
  pass,
  peerIdText,
  phraseWords,
  prekeyPublic,
  prekeysDigest,
  proveOwner,
  type Purpose,
  rendezvousTag,
  sameBytes,
  sealBody,
  sealContent,
  sealEnvelope,
  sealOlderKey,
  sign,
  signEntry,
  type SigningKey,
  signingKey,
  signJoin,
  signPrekey,
  signRosterEntry,
  textId,
  topicOf,
  unwrapThreadKey,
  unwrapWorkspaceKey,
  type Value,
  wrapThreadKey,
  wrapWorkspaceKey,
} from '../../protocol/index.ts'
import { tagged } from '../../protocol/crypto.ts'
import { artifact, BODY, type Artifact, type BodyKind } from '../../protocol/kinds.ts'
import { type Answer, type Check, check, hex, must, nothing, value } from './vector-checks.ts'
import { type Fields, type Json, writeHex, writeValue } from './vector-form.ts'

const text = z.string()
const uint = z.int().min(0)

/** A check that makes: nothing that it is given can be refused. */
function make<I extends z.ZodType>(input: I, run: (input: z.output<I>) => Fields | Promise<Fields>): Check {
  return check(input, nothing, async (given): Promise<Awaited<Answer>> => pass(await run(given)))
}

/** What reads back as it was written. */
function same(what: string, one: Uint8Array, other: Uint8Array): void {
  if (!sameBytes(one, other)) throw new Error(`${what} does not read back`)
}

function plainly(bytes: Uint8Array): Value {
  return must(decodeCanonical(bytes, { bytesMax: 320 * 1024 }))
}

/** Header bytes, signature and envelope of a header as its fields say. */
function signed(purpose: 'entry' | 'roster', header: Value, key: SigningKey) {
  const bytes = encodeCanonical(header)
  const signature = sign(key, purpose, [bytes])
  const envelope = encodeCanonical([bytes, signature])
  const id = hash(`${purpose}-id`, [bytes])
  const fields = { header: writeHex(bytes), id, signature: writeHex(signature), envelope: writeHex(envelope) }
  return { envelope, fields }
}

const signing = z.strictObject({ seed: hex, header: value })

function message(input: Value, parse: (frame: Uint8Array) => Uint8Array): Fields {
  const frame = encodeCanonical(input)
  same('the message', parse(frame), frame)
  return { frame: writeHex(frame) }
}

const messageOf = z.strictObject({ message: value })
const proofOf = z.strictObject({ secret: hex, ws: text, invite: text, owner: text, device: text, nonce: text })

export const MAKES: Readonly<Record<string, readonly [area: string, check: Check]>> = {
  encode_canonical: [
    'canonical',
    make(z.strictObject({ value }), ({ value: given }) => {
      const bytes = encodeCanonical(given)
      same('the value', encodeCanonical(plainly(bytes)), bytes)
      return { bytes: writeHex(bytes) }
    }),
  ],
  hash_parts: [
    'crypto',
    make(z.strictObject({ purpose: text, parts: value, key: hex, salt: hex }), ({ purpose, parts, key, salt }) => {
      const [named, list] = [purpose as Purpose, parts as readonly Value[]]
      return {
        tagged: writeHex(tagged(named, list)),
        hash: hash(named, list),
        mac: mac(key, named, list),
        derived: writeHex(derive(key, salt, named, list)),
      }
    }),
  ],
  sign_parts: [
    'crypto',
    make(z.strictObject({ seed: hex, purpose: text, parts: value }), ({ seed, purpose, parts }) => {
      const key = signingKey(seed)
      return {
        public: key.public,
        signature: writeHex(sign(key, purpose as Purpose, parts as readonly Value[])),
      }
    }),
  ],
  sign_entry: [
    'entry',
    make(signing, ({ seed, header }) => {
      const key = signingKey(seed)
      const { envelope, fields } = signed('entry', header, key)
      same('the entry', signEntry(must(openEntry(envelope)).header, key).envelope, envelope)
      return fields
    }),
  ],
  sign_roster_entry: [
    'roster',
    make(signing, ({ seed, header }) => {
      const key = signingKey(seed)
      const { envelope, fields } = signed('roster', header, key)
      same('the roster entry', signRosterEntry(must(parseRosterEntry(envelope)).header, key).envelope, envelope)
      return fields
    }),
  ],
  sign_prekey: [
    'prekey',
    make(
      z.strictObject({ seed: hex, ws: text, counter: uint, prekey_seed: hex, mailbox: text, created: uint }),
      async ({ seed, ws, counter, prekey_seed: prekeySeed, mailbox, created }) => {
        const key = signingKey(seed)
        const x25519 = await prekeyPublic(prekeySeed)
        const made = signPrekey({ ws, device: key.public, counter, x25519, mailbox, created }, key)
        same('the record', must(openPrekey(made.bytes)).bytes, made.bytes)
        return { x25519, id: made.id, record: writeHex(made.bytes) }
      },
    ),
  ],
  wrap_thread_key: [
    'body',
    make(
      z.strictObject({
        key: hex,
        ws: text,
        nonce: text,
        author: text,
        prev: z.nullable(text),
        device: text,
        prekey: text,
        prekey_seed: hex,
        ekm: hex,
      }),
      async ({ key, ws, nonce, author, prev, device, prekey, prekey_seed: seed, ekm }) => {
        const place = { ws, nonce, author }
        const wrap = await wrapThreadKey(key, place, { device, prekey, x25519: await prekeyPublic(seed), ekm })
        same('the key', must(await unwrapThreadKey(wrap, place, seed)), key)
        return { wrap, commit: commitThreadKey(key, { nonce, ws, device: author, prev }) }
      },
    ),
  ],
  seal_older_key: [
    'body',
    make(z.strictObject({ key: hex, older: hex, id: text }), ({ key, older, id }) => {
      const sealed = sealOlderKey(key, older, id)
      same('the older key', must(openOlderKey(key, sealed, id)), older)
      return { sealed }
    }),
  ],
  seal_body: [
    'body',
    make(
      z.strictObject({ seed: hex, header: value, body: value, key: hex, key_id: z.nullable(text), iv: hex }),
      ({ seed, header, body, key, key_id: keyId, iv }) => {
        const stated = header as { readonly [key: string]: Value }
        const plain = encodeCanonical(body)
        const author = signingKey(seed)
        // The header is opened with other facts of its body in place, which sealing replaces.
        const facts = { h: iv, n: 272, key: keyId === null ? null : fromHex(keyId), iv }
        const draft = must(openEntry(signed('entry', { ...stated, body: facts }, author).envelope))
        const made = sealBody(draft.header, plain, { key, keyId, iv })
        const entry = signEntry(made.header, author)
        const kind = entry.header.kind as BodyKind
        const opened = must(openBody(entry, kind, made.sealed, key))
        same('the body', encodeCanonical(z.encode(BODY[kind] as unknown as z.ZodType<unknown, Value>, opened)), plain)
        return {
          plain: writeHex(plain),
          sealed: writeHex(made.sealed),
          envelope: writeHex(entry.envelope),
          id: entry.id,
        }
      },
    ),
  ],
  action_mac: [
    'body',
    make(z.strictObject({ key: hex, nonce: text, action: value }), ({ key, nonce, action }) => {
      const bytes = encodeCanonical(action)
      same('the action', encodeAction(must(decodeAction(bytes))), bytes)
      return { bytes: writeHex(bytes), action: actionMac(key, nonce, bytes) }
    }),
  ],
  artifact_id: [
    'artifact',
    make(z.strictObject({ artifact: value }), ({ artifact: given }) => ({
      id: artifactId(artifact.parse(given) satisfies Artifact),
    })),
  ],
  seal_content: [
    'artifact',
    make(z.strictObject({ content: hex, key: hex }), ({ content, key }) => {
      const { chunked, sealed } = sealContent(content, key)
      const opened = sealed.map((chunk, index) => must(openChunk(chunked, index, chunk)))
      same('the content', new Uint8Array(Buffer.concat(opened)), content)
      const { size, sha256, ids } = chunked
      const keys = ids.map((_, index) => writeHex(derive(key, new Uint8Array(0), 'chunk', [index, ids.length])))
      // A full chunk is longer than a vector should be; its id tells as much.
      const last = sealed.find((chunk) => chunk.length < 2000)
      return { size, sha256, ids, keys, ...(last ? { last: writeHex(last) } : {}) }
    }),
  ],
  wrap_workspace_key: [
    'envelope',
    make(
      z.strictObject({ key: hex, nonce: text, epoch: uint, device: text, prekey: text, prekey_seed: hex, ekm: hex }),
      async ({ key, nonce, epoch, device, prekey, prekey_seed: seed, ekm }) => {
        const place = { nonce, epoch }
        const commit = commitWorkspaceKey(key, place)
        const wrap = await wrapWorkspaceKey(key, place, { device, prekey, x25519: await prekeyPublic(seed), ekm })
        same('the key', must(await unwrapWorkspaceKey(wrap, place, { seed, commit })), key)
        return { wrap, commit, topic: topicOf(key, epoch) }
      },
    ),
  ],
  seal_envelope: [
    'envelope',
    make(z.strictObject({ plain: hex, key: hex, epoch: uint, salt: hex }), ({ plain, key, epoch, salt }) => {
      const envelope = sealEnvelope(plain, { key, epoch, salt })
      same('the envelope', must(openEnvelope(envelope, key)), plain)
      return { envelope: writeHex(envelope) }
    }),
  ],
  make_code: [
    'invite',
    make(
      z.strictObject({
        secret: hex,
        inviter: z.nullable(z.strictObject({ device: text, addresses: z.array(text), expires: uint })),
      }),
      ({ secret, inviter }) => {
        const code = encodeCode(inviter ? { secret, inviter } : { secret })
        same('the code', must(parseCode(code)).secret, secret)
        same('the phrase', must(parseCode(phraseWords(secret).join(' '))).secret, secret)
        return {
          code,
          words: phraseWords(secret).join(' '),
          invite_key: inviteKey(secret).public,
          owner_proof_key: writeHex(ownerProofKey(secret)),
          rendezvous: rendezvousTag(secret),
        }
      },
    ),
  ],
  prove_owner: [
    'join',
    make(proofOf, ({ secret, ...stated }) => ({ proof: proveOwner(ownerProofKey(secret), stated) })),
  ],
  sign_join: [
    'join',
    make(
      z.strictObject({ seed: hex, secret: z.nullable(hex), ws: text, invite: z.nullable(text), prekey: text }),
      ({ seed, secret, ws, invite, prekey }) => {
        const key = signingKey(seed)
        const stated = { ws, invite, device: key.public, prekey }
        const proof = signJoin(stated, key, secret ? inviteKey(secret) : null)
        return {
          device: key.public,
          device_signature: proof.deviceSignature,
          invite_signature: proof.inviteSignature,
        }
      },
    ),
  ],
  encode_sync: ['sync', make(messageOf, ({ message: m }) => message(m, (f) => encodeSync(must(parseSync(f)))))],
  encode_gossip: ['sync', make(messageOf, ({ message: m }) => message(m, (f) => encodeGossip(must(parseGossip(f)))))],
  encode_join: ['join', make(messageOf, ({ message: m }) => message(m, (f) => encodeJoin(must(parseJoin(f)))))],
  digest_sets: [
    'sync',
    make(
      z.strictObject({
        threads: z.array(z.strictObject({ thread: text, heads: z.array(text) })),
        prekeys: z.array(text),
      }),
      ({ threads, prekeys }) => {
        const digests = threads.map(({ thread, heads }) => [thread, headsDigest(heads)] as const)
        return {
          heads: digests.map(([, digest]) => digest),
          buckets: writeHex(fromHex(bucketDigests(digests))),
          prekeys: prekeysDigest(prekeys),
        }
      },
    ),
  ],
  name_id: [
    'text-id',
    make(
      z.strictObject({
        id: text,
        sort: z.literal([
          'thread',
          'revision',
          'message',
          'artifact',
          'annotation',
          'workspace',
          'device',
          'invite',
          'entry',
        ]),
      }),
      ({ id, sort }) => {
        const named = textId(sort, id)
        if (parseTextId(sort, named) !== id.slice(0, 32)) throw new Error('the name does not read back')
        return { text: named }
      },
    ),
  ],
  name_peer: ['text-id', make(z.strictObject({ device: text }), ({ device }) => ({ peer: peerIdText(device) }))],
}

/** The plain value of canonical bytes, as vectors write it. */
function valueIn(bytes: Uint8Array): Json {
  return writeValue(plainly(bytes))
}

/** The plain value of an entry's or a roster entry's header. */
export function headerIn(entry: { readonly envelope: Uint8Array }): Json {
  const [header] = plainly(entry.envelope) as readonly Uint8Array[]
  return valueIn(header ?? new Uint8Array(0))
}
