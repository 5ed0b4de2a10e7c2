/** The checks of vectors that read: bytes that are accepted, or refused by name. */
import * as z from 'zod'
import {
  addNode,
  admitRosterEntry,
  artifactId,
  authorize,
  type Checked,
  checkSigningKey,
  commitThreadKey,
  decodeCanonical,
  emptyGraph,
  emptyRosterLog,
  encodeCanonical,
  type Entry,
  epochOf,
  type Ground,
  hash,
  openChunk,
  openEnvelope,
  openEntry,
  openOlderKey,
  openPrekey,
  parseCode,
  parseEntry,
  parseGossip,
  parseJoin,
  parseRosterEntry,
  parseSync,
  pass,
  PROTOCOL_VERSION,
  refuse,
  type RosterLog,
  sameBytes,
  unwrapThreadKey,
  unwrapWorkspaceKey,
  type Value,
  verify,
} from '../../protocol/index.ts'
import { artifact, chunked } from '../../protocol/kinds.ts'
import { mustAdmit } from '../cast.ts'
import { type Fields, type Json, readHex, readValue, writeHex, writeValue } from './vector-form.ts'

export type Answer = Checked<Fields> | Promise<Checked<Fields>>
export type Check = (input: Fields, context: Fields) => Answer

/** A check with the shapes that its input and its context have to have. */
export function check<I extends z.ZodType, C extends z.ZodType>(
  input: I,
  context: C,
  run: (input: z.output<I>, context: z.output<C>) => Answer,
): Check {
  return (givenInput, givenContext) => run(input.parse(givenInput), context.parse(givenContext))
}

export const hex = z.string().transform(readHex)
export const value = z.custom<Json>((given) => given !== undefined).transform(readValue)
const hexes = z.array(hex)
export const nothing = z.strictObject({})
const wrap = z.tuple([z.string(), z.string(), z.string(), z.string()])
const envelope = z.strictObject({ envelope: hex })
const frame = z.strictObject({ frame: hex })

const SIZE_BYTES_MAX = 320 * 1024

/** What is told of a value, where it passes. */
function tell<T>(checked: Checked<T>, give: (value: T) => Fields): Checked<Fields> {
  return checked.ok ? pass(give(checked.value)) : checked
}

export function must<T>(checked: Checked<T>): T {
  if (!checked.ok) throw new Error(`${checked.refusal} ${checked.detail ?? ''}`)
  return checked.value
}

/** The roster of envelopes that are all in order. */
export function readRoster(envelopes: readonly Uint8Array[]): RosterLog {
  const log = emptyRosterLog()
  for (const bytes of envelopes) mustAdmit(log, must(parseRosterEntry(bytes)))
  return log
}

/** Opens an entry as one would who knows more versions, all of the first one's shape. */
function openOfVersion(bytes: Uint8Array, versions: readonly number[]): Checked<Entry> {
  const opened = openEntry(bytes)
  if (opened.ok || opened.refusal !== 'unknown_version') return opened
  const [header, signature] = plainly(bytes) as readonly [Uint8Array, Uint8Array]
  const value = plainly(header) as { readonly [key: string]: Value }
  const v = Number(value['v'])
  const parsed = parseEntry(encodeCanonical([encodeCanonical({ ...value, v: PROTOCOL_VERSION }), signature]))
  if (!versions.includes(v) || !parsed.ok) return opened
  const entry = parsed.value
  if (!verify(entry.header.dev, signature, 'entry', [header])) return refuse('bad_signature')
  return pass({ ...entry, id: hash('entry-id', [header]), envelope: bytes, header: { ...entry.header, v } })
}

function plainly(bytes: Uint8Array): Value {
  return must(decodeCanonical(bytes, { bytesMax: SIZE_BYTES_MAX }))
}

const ground = z.strictObject({
  roster: hexes,
  stored: hexes,
  elsewhere: hexes.optional(),
  refused: hexes.optional(),
  versions: z.array(z.number()).optional(),
})

function readGround({ roster, stored, elsewhere = [], refused = [] }: z.output<typeof ground>): Ground {
  const graph = emptyGraph()
  const refusedIds = new Set<string>()
  const threads = new Map(elsewhere.map((bytes) => must(openEntry(bytes))).map(({ id, thread }) => [id, thread]))
  const read = {
    graph,
    log: readRoster(roster),
    isRefused: (id: string) => refusedIds.has(id),
    threadOf: (id: string) => threads.get(id),
  }
  for (const bytes of stored) {
    const entry = must(openEntry(bytes))
    const verdict = authorize(read, entry)
    if (verdict.ok !== true) throw new Error(`a stored ${entry.header.kind} is not to be stored`)
    addNode(graph, verdict.value)
  }
  for (const entry of refused.map((bytes) => must(openEntry(bytes)))) {
    if (authorize(read, entry).ok !== false) throw new Error(`a refused ${entry.header.kind} is not to be refused`)
    refusedIds.add(entry.id)
  }
  return read
}

/** Reads a message, writes it again, and finds the same bytes. */
function readMessage(bytes: Uint8Array, parse: (frame: Uint8Array) => Checked<unknown>): Checked<Fields> {
  return tell(parse(bytes), () => ({ message: writeValue(plainly(bytes)) }))
}

export const CHECKS: Readonly<Record<string, readonly [area: string, check: Check]>> = {
  decode_canonical: [
    'canonical',
    check(z.strictObject({ bytes: hex }), nothing, ({ bytes }) =>
      tell(decodeCanonical(bytes, { bytesMax: SIZE_BYTES_MAX }), (value) => {
        const written = writeValue(value)
        if (!sameBytes(encodeCanonical(readValue(written)), bytes)) throw new Error('encodes to other bytes')
        return { value: written }
      }),
    ),
  ],
  check_signing_key: [
    'crypto',
    check(z.strictObject({ key: z.string() }), nothing, ({ key }) => tell(checkSigningKey(key), () => ({}))),
  ],
  open_entry: [
    'entry',
    check(envelope, nothing, ({ envelope: bytes }) => tell(openEntry(bytes), ({ id, thread }) => ({ id, thread }))),
  ],
  authorize: [
    'authorize',
    check(envelope, ground, ({ envelope: bytes }, context) => {
      const opened = openOfVersion(bytes, context.versions ?? [])
      if (!opened.ok) return opened
      const verdict = authorize(readGround(context), opened.value)
      if (verdict.ok === 'missing') throw new Error('something is missing')
      return tell(verdict, ({ depth }) => ({ id: opened.value.id, depth }))
    }),
  ],
  admit_roster_entry: [
    'roster',
    check(envelope, z.strictObject({ roster: hexes }), ({ envelope: bytes }, { roster }) => {
      const entry = parseRosterEntry(bytes)
      if (!entry.ok) return entry
      const admitted = admitRosterEntry(readRoster(roster), entry.value)
      if (!admitted) throw new Error('the predecessor is missing')
      return tell(admitted, ({ point, ws, owner, epoch, members, devices }) => ({
        id: entry.value.id,
        point,
        ws,
        owner,
        epoch,
        members: [...members.values()].map(({ id, name, role, kind, removed }) => ({ id, name, role, kind, removed })),
        devices: [...devices.values()].map(({ key, member, name, removed }) => ({ key, member, name, removed })),
      }))
    }),
  ],
  open_prekey: [
    'prekey',
    check(z.strictObject({ record: hex }), nothing, ({ record }) => tell(openPrekey(record), ({ id }) => ({ id }))),
  ],
  open_thread_key: [
    'body',
    check(
      z.strictObject({
        wrap,
        ws: z.string(),
        nonce: z.string(),
        author: z.string(),
        prev: z.nullable(z.string()),
        commit: z.string(),
      }),
      z.strictObject({ prekey_seed: hex }),
      async ({ wrap: wrapped, ws, nonce, author, prev, commit }, { prekey_seed: seed }) => {
        const key = await unwrapThreadKey(wrapped, { ws, nonce, author }, seed)
        if (key.ok && commitThreadKey(key.value, { nonce, ws, device: author, prev }) !== commit)
          return refuse('key_commitment')
        return tell(key, (bytes) => ({ key: writeHex(bytes) }))
      },
    ),
  ],
  open_older_key: [
    'body',
    check(z.strictObject({ sealed: z.string(), id: z.string() }), z.strictObject({ key: hex }), (input, { key }) =>
      tell(openOlderKey(key, input.sealed, input.id), (older) => ({ key: writeHex(older) })),
    ),
  ],
  open_workspace_key: [
    'envelope',
    check(
      z.strictObject({ wrap, nonce: z.string(), epoch: z.number(), commit: z.string() }),
      z.strictObject({ prekey_seed: hex }),
      async ({ wrap: wrapped, nonce, epoch, commit }, { prekey_seed: seed }) =>
        tell(await unwrapWorkspaceKey(wrapped, { nonce, epoch }, { seed, commit }), (key) => ({ key: writeHex(key) })),
    ),
  ],
  open_envelope: [
    'envelope',
    check(envelope, z.strictObject({ key: hex }), ({ envelope: bytes }, { key }) =>
      tell(openEnvelope(bytes, key), (plain) => ({ plain: writeHex(plain) })),
    ),
  ],
  parse_artifact: [
    'artifact',
    check(z.strictObject({ artifact: value }), nothing, ({ artifact: given }) => {
      const parsed = artifact.safeParse(given)
      return parsed.success ? pass({ id: artifactId(parsed.data) }) : refuse('schema')
    }),
  ],
  open_chunk: [
    'artifact',
    check(z.strictObject({ index: z.number(), sealed: hex }), z.strictObject({ chunked: value }), (input, context) =>
      tell(openChunk(chunked.parse(context.chunked), input.index, input.sealed), (plain) => ({
        plain: writeHex(plain),
      })),
    ),
  ],
  read_epoch: [
    'envelope',
    check(envelope, nothing, ({ envelope: bytes }) => tell(epochOf(bytes), (epoch) => ({ epoch }))),
  ],
  parse_sync: ['sync', check(frame, nothing, ({ frame: bytes }) => readMessage(bytes, parseSync))],
  parse_gossip: ['sync', check(frame, nothing, ({ frame: bytes }) => readMessage(bytes, parseGossip))],
  parse_join: ['join', check(frame, nothing, ({ frame: bytes }) => readMessage(bytes, parseJoin))],
  parse_code: [
    'invite',
    check(z.strictObject({ text: z.string() }), nothing, ({ text }) =>
      tell(parseCode(text), ({ secret, inviter }) => ({
        secret: writeHex(secret),
        inviter: inviter ? { ...inviter } : null,
      })),
    ),
  ],
}
