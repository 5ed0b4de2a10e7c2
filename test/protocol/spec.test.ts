/** The specification is true: its examples are what the code gives, its grammars have the code's keys, its lists are whole. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { decodeCanonical, fromHex, type JoinMessage, KINDS, parseSync, REFUSALS, toHex } from '../../protocol/index.ts'
import { BODY, chunked, CTL, headerShape, record } from '../../protocol/kinds.ts'
import * as limits from '../../protocol/limits.ts'
import { ROSTER_CTL } from '../../protocol/roster-entry.ts'
import { fileAt, filesBelow, ROOT } from '../source.ts'
import { blockText, bytesOf, cborLines } from './hex-lines.ts'
import { GOSSIP_MESSAGES, MAIL, MAILBOX_MESSAGES, SYNC_MESSAGES } from './samples.ts'
import { EXAMPLES, REFUSED } from './spec-examples.ts'
import * as world from './spec-world.ts'

const PAGES = new Map(
  filesBelow(['protocol/spec'], ['.md']).map(({ path, text }) => [path.replace('protocol/spec/', ''), text]),
)
const NAMES = [
  'overview',
  'canonical',
  'entry',
  'thread',
  'record',
  'artifact',
  'roster',
  'envelope',
  'sync',
  'mailbox',
  'errors',
]

function page(name: string): string {
  const text = PAGES.get(`${name}.md`)
  if (text === undefined) throw new Error(`there is no page ${name}`)
  return text
}

interface Block {
  language: string
  name: string
  text: string
}

function blocksOf(text: string): Block[] {
  return [...text.matchAll(/^```(\w*) ?([\w-]*)\n(.*?)^```$/gms)].map(([, language = '', name = '', content = '']) => ({
    language,
    name,
    text: content.trimEnd(),
  }))
}

describe('the pages', () => {
  test('are the eleven, and the one that rules nothing', () => {
    expect([...PAGES.keys()].toSorted()).toEqual([...NAMES, 'scale'].map((name) => `${name}.md`).toSorted())
  })

  test.each(NAMES)('%s has a purpose, a grammar, an example and requirements', (name) => {
    const text = page(name)
    expect(text).toMatch(/^# [A-Z][^\n]+\n\n[A-Z][^\n]{80,}\n\n/)
    const languages = blocksOf(text).map((block) => block.language)
    expect(languages).toContain('hex')
    expect(languages).toContain(name === 'overview' ? 'abnf' : 'cddl')
    expect(languages.filter((language) => !['hex', 'cddl', 'abnf'].includes(language))).toEqual([])
    expect(text).toMatch(/^## Requirements$/m)
    expect(text.split('\n## Requirements\n')[1]).toMatch(/MUST.*\(`[a-z_]+`/)
  })

  test('link to each other and to headings that exist', () => {
    const links = [...PAGES].flatMap(([from, text]) =>
      [...text.matchAll(/\]\((?!https:)([^)]*)\)/g)].map(([, to = '']) => [from, to]),
    )
    expect(links.length).toBeGreaterThan(20)
    expect(links.filter(([, to = '']) => !PAGES.has(to))).toEqual([])
    const readme = readFileSync(join(ROOT, 'protocol/README.md'), 'utf8')
    for (const name of [...NAMES, 'scale']) expect(readme).toContain(`](spec/${name}.md)`)
  })
})

describe('the examples', () => {
  const shown = NAMES.flatMap((name) => blocksOf(page(name)).filter((block) => block.language === 'hex'))

  test.each(shown)('$name is what the code gives', ({ name, text }) => {
    expect(text).toBe(EXAMPLES.get(name))
  })

  test('are all shown, once', () => {
    expect(shown.map(({ name }) => name).toSorted()).toEqual([...EXAMPLES.keys()].toSorted())
  })

  test('leave no hex outside of them', () => {
    for (const [name, text] of PAGES)
      expect(
        text.replace(/^```hex.*?^```$/gms, '').match(/\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{8,}\b/g),
        name,
      ).toBeNull()
  })

  test('spell the bytes that they are made from', () => {
    for (const [bytes, within] of [
      [world.genesis.envelope, ['0']],
      [world.create.envelope, ['0']],
      [world.franksPrekey.bytes, []],
    ] as const)
      expect(bytesOf(blockText(cborLines(bytes, { within })))).toBe(toHex(bytes))
  })

  test.each(REFUSED)('$hex is refused as $refusal', ({ hex, refusal }) => {
    const bytes = fromHex(hex)
    const answer = refusal === 'message' ? parseSync(bytes) : decodeCanonical(bytes, { bytesMax: 100 })
    expect(answer).toMatchObject({ ok: false, refusal })
  })
})

/** The maps of all grammars, by name: key → whether it may be absent. */
function grammars(): Map<string, Map<string, boolean>> {
  const found = new Map<string, Map<string, boolean>>()
  for (const name of NAMES)
    for (const block of blocksOf(page(name)).filter(({ language }) => language === 'cddl'))
      for (const [, rule = '', rest = ''] of withoutRemarks(block.text).matchAll(/^([\w-]+) = \{(.*?)\}$/gms))
        found.set(rule, keysOf(rest))
  return found
}

function withoutRemarks(text: string): string {
  return text.replace(/;.*$/gm, '').replace(/[ \t]+$/gm, '')
}

/** The keys of a map, without those of maps inside it. */
function keysOf(rest: string): Map<string, boolean> {
  let outer = rest
  for (let before = ''; before !== outer;) [before, outer] = [outer, outer.replace(/[[{][^[\]{}]*[\]}]/g, 'x')]
  return new Map(
    [...outer.matchAll(/(\?\s*)?\b(\w+):/g)].map(([, mark, key = '']) => [key, mark !== undefined] as const),
  )
}

function shapeOf(schema: z.ZodObject): Map<string, boolean> {
  return new Map(Object.entries<unknown>(schema.shape).map(([key, field]) => [key, field instanceof z.ZodOptional]))
}

const GRAMMARS = grammars()

function sameKeys(rule: string, keys: ReadonlyMap<string, boolean>): void {
  expect(Object.fromEntries(GRAMMARS.get(rule) ?? []), rule).toEqual(Object.fromEntries(keys))
}

describe('the grammars have the keys of the code', () => {
  test.each(KINDS)('%s', (kind) => {
    sameKeys(`ctl-${kind}`, shapeOf(CTL[kind]))
    const body = BODY[kind]
    if (body === null) expect(GRAMMARS.has(`body-${kind}`)).toBe(false)
    else sameKeys(`body-${kind}`, shapeOf(body))
  })

  test('header, record and what describes chunks', () => {
    sameKeys('header', shapeOf(headerShape))
    sameKeys('record', shapeOf(record))
    sameKeys('chunked', shapeOf(chunked))
  })

  test.each(Object.entries(ROSTER_CTL))('roster %s', (kind, schema) => {
    sameKeys(`roster-${kind}`, shapeOf(schema))
  })

  const ID = 'ab'.repeat(32)
  const JOIN_MESSAGES: readonly JoinMessage[] = [
    { t: 'ask', v: 1, key: ID, device: ID, nonce: ID },
    { t: 'offer', ws: ID, invite: ID, role: 'member', kind: 'person', owner: ID, proof: ID },
    { t: 'claim', device_name: 'a', prekey: new Uint8Array(0), invite_signature: '', device_signature: '' },
    { t: 'welcome', roster: [], prekeys: [], last: true },
    { t: 'refused', reason: 'busy' },
  ]

  test.each([
    ...SYNC_MESSAGES.map((message) => ['sync', message] as const),
    ...GOSSIP_MESSAGES.map((message) => ['gossip', message] as const),
    ...JOIN_MESSAGES.map((message) => ['join', message] as const),
    ...MAILBOX_MESSAGES.map((message) => ['mailbox', message] as const),
    ...MAIL.map((message) => ['mail', message] as const),
  ])('%s $1.t', (protocol, message) => {
    sameKeys(`${protocol}-${message.t}`, new Map(Object.keys(message).map((key) => [key, false])))
  })
})

describe('the lists are whole', () => {
  const errors = page('errors')
  /** The first two columns of the tables. */
  const rows = [...errors.matchAll(/^\| `(\w+)` \| ([^|]+) \|/gm)].map(([, name = '', value = '']) => ({ name, value }))

  test.each(Object.keys(REFUSALS))('%s is in the list of refusals and explained on another page', (name) => {
    const others = NAMES.filter((other) => other !== 'errors' && page(other).includes(`\`${name}\``))
    expect(others.length).toBeGreaterThan(0)
    expect(rows.filter((row) => row.name === name)).toHaveLength(1)
    expect(errors.split('```cddl')[1]?.split('```')[0]).toContain(`"${name}"`)
  })

  test('no refusal is listed that does not exist', () => {
    const listed = rows.filter(({ name }) => /^[a-z]/.test(name))
    expect(listed.filter(({ name }) => !Object.hasOwn(REFUSALS, name))).toEqual([])
  })

  test('every limit stands there with its number', () => {
    const values = Object.entries(limits).map(([name, value]) => `${name} ${[value].flat().join(', ')}`)
    const listed = rows.filter(({ name }) => /^[A-Z]/.test(name)).map(({ name, value }) => `${name} ${value}`)
    expect(listed.toSorted()).toEqual(values.toSorted())
  })

  test('every tag stands on the page of encodings', () => {
    const purposes = /export type Purpose =((?:\s*\| '[\w-]+')+)/.exec(fileAt('protocol/crypto.ts').text)?.[1] ?? ''
    const tags = [...purposes.matchAll(/'([\w-]+)'/g)].map(([, tag = '']) => tag)
    const listed = [...page('canonical').matchAll(/^\| `([\w-]+)` \|/gm)].map(([, tag = '']) => tag)
    expect(tags.length).toBeGreaterThan(20)
    expect(listed.toSorted()).toEqual(tags.toSorted())
  })
})
