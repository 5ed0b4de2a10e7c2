/** An export says what its proof says, and nothing else passes. */
import { fc, test as propertyTest } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { artifactId, chainTo, contentHash, openEntry, sameBytes, textId, toHex } from '../../protocol/index.ts'
import { judge } from '../../src/export/judge.ts'
import { encodeThread, type Proof, type ProofEntry, THREAD_PATH } from '../../src/export/proof.ts'
import { type Report, verifyExport } from '../../src/export/verify.ts'
import { begin, bob, dice, frank, type Story } from '../cast.ts'
import { arrives, handOff, pair, SESSION, stoppedAcme, symbolOf, trio } from '../node/world.ts'
import { BYTES, everything, filesOf, proofAt, textOf } from './handed.ts'

let bobs: Proof
let files: Map<string, Uint8Array>
let made: Awaited<ReturnType<typeof everything>>

/** Another thread of the same two. */
let others: Proof

/** The laptops live as long as the first test does; what they gave out lives on. */
async function once(): Promise<void> {
  if (files) return
  made = await everything()
  bobs = await proofAt(made.bob, made.thread_id)
  others = await proofAt(made.bob, (await handOff(made.bob, 'frank', 'another')).thread_id)
  files = filesOf(bobs)
}

const entriesOf = (kind: string): ProofEntry[] =>
  bobs.entries.filter(({ envelope }) => {
    const entry = openEntry(envelope)
    return entry.ok && entry.value.header.kind === kind
  })
const faultsOf = ({ faults }: Report): string[] => faults.map(({ path, what }) => `${path}: ${what}`)
const remade = (proof: Proof): Report => verifyExport(new Map([...files, [THREAD_PATH, encodeThread(proof)]]))

test('an export of either side is the same, byte by byte, and passes', async () => {
  await once()
  const franks = filesOf(await proofAt(made.frank, made.thread_id))
  expect([...franks.keys()]).toEqual([...files.keys()])
  for (const [path, bytes] of files) expect(sameBytes(bytes, franks.get(path) ?? new Uint8Array()), path).toBe(true)
  const report = verifyExport(files)
  expect(report).toMatchObject({ ok: true, faults: [], missing: [] })
  const seen = await made.bob.node.getThread({ thread_id: made.thread_id })
  expect(report.thread).toMatchObject({
    thread_id: made.thread_id,
    status: 'completed',
    final: true,
    state_digest: seen.state_digest,
    workspace: 'acme',
    from: 'bob@acme',
    to: 'frank@acme',
    action: 'bound',
    forked: [],
    late: [],
  })
  const whoami = await made.frank.node.whoami()
  expect(report.thread?.devices).toContainEqual(
    expect.objectContaining({ device: 'frank/frank-laptop', peer_id: whoami.peer_id, side: 'recipient' }),
  )
  // The keys that are given open single bodies: no key of the thread or the workspace is among them.
  const held = [...(await made.bob.disk.rows('secret')), ...(await made.frank.disk.rows('secret'))]
  expect(held.filter(([name]) => name.startsWith('thread/')).length).toBeGreaterThan(0)
  for (const [name, key] of held)
    for (const [path, bytes] of files) expect(toHex(bytes).includes(toHex(key)), `${name} in ${path}`).toBe(false)
})

describe('the folder', () => {
  test('holds contents byte for byte, under names that are safe everywhere', async () => {
    await once()
    const paths = [...files.keys()].filter((path) => path.startsWith('artifacts/'))
    expect(paths).toEqual([
      'artifacts/001-users.ts.diff',
      'artifacts/002-logo.bin',
      'artifacts/003-Logo.bin',
      'artifacts/004-CON',
      'artifacts/005-contract.txt',
    ])
    expect(files.get('artifacts/002-logo.bin')).toEqual(BYTES)
    expect(files.get('artifacts/004-CON')).toEqual(new Uint8Array())
  })

  test('has a page that says all of it, with every word of people where it can do nothing', async () => {
    await once()
    const page = textOf(files, 'README.md')
    for (const words of [
      '# Handoff ho_',
      'completed, final',
      'Outcome: done',
      'answers: approved',
      'Which page size?',
      'answered',
      'resolved by',
      'npm test',
      'https://ci.example/41',
      '[artifacts/002-logo.bin](artifacts/002-logo.bin)',
      'relay-node export verify',
    ])
      expect(page).toContain(words)
    expect(page).toContain(String.raw`Which page size?\u202e`)
    let fence: string | undefined
    const outside: string[] = []
    for (const line of page.split('\n')) {
      const marks = /^(`{3,})/.exec(line)?.[1]
      if (fence === undefined && marks) fence = marks
      else if (fence !== undefined && line === fence) fence = undefined
      else if (fence === undefined) outside.push(line)
    }
    expect(fence).toBeUndefined()
    expect(outside.join('\n')).not.toMatch(/evil|<b>|Paginate|page size|dropped/)
    expect(outside.filter((line) => line.startsWith('## '))).toEqual([
      '## Devices',
      '## What was said',
      '## Record',
      '## Annotations',
      '## Proof',
    ])
  })
})

describe('what was changed', () => {
  propertyTest.prop([fc.nat(), fc.nat(), fc.integer({ min: 1, max: 255 })], { numRuns: 200 })(
    'is found: any byte of any file',
    async (which, at, flip) => {
      await once()
      const changed = [...files].filter(([, bytes]) => bytes.length > 0)
      const [path, bytes] = changed[which % changed.length] ?? ['', new Uint8Array()]
      const other = bytes.slice()
      const place = at % other.length
      other[place] = (other[place] ?? 0) ^ flip
      const report = verifyExport(new Map([...files, [path, other]]))
      expect(report.ok).toBe(false)
      expect(report.faults.length).toBeGreaterThan(0)
    },
  )

  test('is found: a file that is cut short, is longer, is gone, or is too much', async () => {
    await once()
    for (const [path, bytes] of files) {
      const without = new Map(files)
      without.delete(path)
      expect(faultsOf(verifyExport(without)), path).toContain(`${path}: it is missing`)
      expect(verifyExport(new Map([...files, [path, Uint8Array.of(...bytes, 0)]])).ok, path).toBe(false)
      if (bytes.length > 0) expect(verifyExport(new Map([...files, [path, bytes.slice(0, -1)]])).ok, path).toBe(false)
    }
    const more = new Map([...files, ['proof/more.txt', new Uint8Array()] as const])
    expect(faultsOf(verifyExport(more))).toEqual(['proof/more.txt: it is no part of the export'])
    expect(faultsOf(verifyExport(new Map()))).toEqual([
      'proof/roster.cbor: it is missing',
      'proof/thread.cbor: it is missing',
    ])
  })

  test('is found: an entry that is left out, stands twice, or comes before what it builds on', async () => {
    await once()
    for (const i of bobs.entries.keys()) {
      const report = remade({ ...bobs, entries: bobs.entries.filter((_, at) => at !== i) })
      expect(report.ok, String(i)).toBe(false)
    }
    expect(faultsOf(remade({ ...bobs, entries: [...bobs.entries, ...bobs.entries.slice(0, 1)] }))[0]).toContain('twice')
    expect(faultsOf(remade({ ...bobs, entries: bobs.entries.toReversed() })).join()).toContain(
      'builds on what is missing',
    )
  })

  test('is found: a body, or a key, that is not of its entry', async () => {
    await once()
    const [one, other] = [entriesOf('message')[0], entriesOf('complete')[0]]
    const put = (change: Partial<ProofEntry>): Proof => ({
      ...bobs,
      entries: bobs.entries.map((entry) => (entry === one ? { ...entry, ...change } : entry)),
    })
    expect(faultsOf(remade(put({ sealed: other?.sealed ?? null }))).join()).toContain('not the one that was signed')
    expect(faultsOf(remade(put({ key: other?.key ?? null }))).join()).toContain('does not open')
    expect(faultsOf(remade(put({ key: null }))).join()).toContain('README.md: it is not what the proof says')
    expect(faultsOf(remade({ ...bobs, actionKey: new Uint8Array(32) })).join()).toContain('README.md')
    const ack = entriesOf('ack')[0]
    const onAck = {
      ...bobs,
      entries: bobs.entries.map((entry) => (entry === ack ? { ...entry, key: new Uint8Array(32) } : entry)),
    }
    expect(faultsOf(remade(onAck)).join()).toContain('has no body')
  })

  test('is found: an entry that a device signed, and the rules refuse', async () => {
    await once()
    const report = remade({ ...bobs, entries: [...bobs.entries, ...others.entries] })
    expect(faultsOf(report)[0]).toMatch(
      /^proof\/thread.cbor: entry \d+: ent_\w+ is refused by the rules: missing_create$/,
    )
  })
})

async function stoppedAndStarted() {
  const world = await stoppedAcme('frank')
  const laptop = world.laptop('bob')
  await laptop.start()
  return laptop
}

describe('a history that was made shorter with all that follows from it', () => {
  test('passes as what it is: an earlier state, with another digest and other heads', async () => {
    await once()
    const accept = bobs.entries.findIndex((entry) => entry === entriesOf('accept')[0])
    const shorter = { ...bobs, entries: bobs.entries.slice(0, accept + 1) }
    const report = verifyExport(filesOf(shorter))
    expect(report).toMatchObject({ ok: true, thread: { status: 'accepted', entries: accept + 1 } })
    expect(report.thread?.state_digest).not.toBe(verifyExport(files).thread?.state_digest)
    expect(report.not_proven.join()).toContain('newer')
  })

  test('names the texts that were taken out', async () => {
    await once()
    const sealed = { ...bobs, entries: bobs.entries.map((entry) => ({ ...entry, key: null })) }
    const without = { ...bobs, entries: bobs.entries.map((entry) => ({ ...entry, key: null, sealed: null })) }
    for (const [proof, what] of [
      [sealed, 'the key of its text (message)'],
      [without, 'its text (message)'],
    ] as const) {
      const report = verifyExport(filesOf(proof))
      expect(report.ok).toBe(true)
      expect(report.missing.map((one) => one.what)).toContain(what)
      expect(report.thread?.action).toBe('unknown')
    }
  })

  test('of another workspace passes with the id of that one', async () => {
    await once()
    const other = await stoppedAndStarted()
    const { thread_id } = await handOff(other, 'frank', 'one')
    const report = verifyExport(filesOf(await proofAt(other, thread_id)))
    expect(report.ok).toBe(true)
    expect(report.thread?.devices.map(({ device }) => device)).toEqual(['bob/bob-laptop', 'frank/frank-laptop'])
    const { judged } = judge({ ...bobs, roster: bobs.roster.slice(1) })
    expect(judged).toBeUndefined()
  })
})

describe('content that lies in chunks', () => {
  const large = dice('large')(300 * 1024)
  const artifacts = [
    {
      type: 'file' as const,
      name: 'large.bin',
      media_type: 'application/octet-stream',
      base64: Buffer.from(large).toString('base64'),
    },
  ]
  const path = 'artifacts/001-large.bin'

  test('is a file where it was there, named as missing where it was not, and found where it is another one', async () => {
    const world = await pair()
    const { thread_id, artifact_ids } = await handOff(world.bob, 'frank', 'large', { artifacts })
    await arrives(world, world.frank, thread_id)
    const proof = await proofAt(world.frank, thread_id)
    // Nobody has read it there: it is named, by what its author signed.
    const without = filesOf(proof)
    expect(without.has(path)).toBe(false)
    expect(verifyExport(without)).toMatchObject({
      ok: true,
      missing: [{ id: artifact_ids[0], what: `its content of ${large.length} bytes` }],
    })
    expect(textOf(without, 'README.md')).toContain('whose content is not in this export')

    const whole = filesOf(
      proof,
      new Map([
        [artifactId({ type: 'file', name: 'large.bin', media_type: 'application/octet-stream', bytes: large }), large],
      ]),
    )
    expect(sameBytes(whole.get(path) ?? new Uint8Array(), large)).toBe(true)
    expect(verifyExport(whole)).toMatchObject({ ok: true, missing: [] })
    const changed = large.with(4711, (large[4711] ?? 0) ^ 1)
    expect(faultsOf(verifyExport(new Map([...whole, [path, changed]])))).toContain(
      `${path}: it is not the content that the signed entry names`,
    )
    // A file that was put where none was exported does not go with the page.
    expect(verifyExport(new Map([...without, [path, large]])).ok).toBe(false)
  })
})

describe('what has no effect', () => {
  /** Entries without their texts, with the roster that they rest on. */
  const bare = (story: Story): Proof => ({
    actionKey: null,
    roster: chainTo(story.workspace.log, story.workspace.roster().point).map(({ envelope }) => envelope),
    entries: story.entries().map(({ envelope }) => ({ envelope, sealed: null, key: null })),
  })
  const said = (proof: Proof) => {
    const folder = filesOf(proof)
    return { report: verifyExport(folder), page: textOf(folder, 'README.md') }
  }

  test('is marked: what came late', () => {
    const story = begin()
    const accept = story.say(frank, 'accept')
    const late = story.draft(bob, 'message', {}, { past: [accept] })
    story.say(frank, 'complete')
    story.add(late)
    const { report, page } = said(bare(story))
    expect(report).toMatchObject({ ok: true, thread: { status: 'completed', late: [textId('entry', late.id)] } })
    expect(page).toContain('writes (late: outside of what was sealed)')
  })

  test('is marked: what a fork made void, and who forked', () => {
    const story = begin()
    const accept = story.draft(frank, 'accept')
    const cancel = story.say(bob, 'cancel')
    story.say(frank, 'ack', {}, { past: [cancel] })
    story.add(accept)
    const { report, page } = said(bare(story))
    expect(report).toMatchObject({
      ok: true,
      thread: { status: 'cancelled', void: [textId('entry', accept.id)], forked: ['frank/frank'] },
    })
    expect(page).toContain('accepts (void: without effect)')
    expect(page).toContain('Signed two histories: frank/frank')
  })

  test('is marked: what a removed device wrote', () => {
    const story = begin()
    const accept = story.say(frank, 'accept')
    const cut = story.draft(frank, 'message', {}, { past: [accept] })
    story.workspace.write('remove-device', { device: frank.device })
    story.say(bob, 'fence', { device: frank.device }, { past: [accept] })
    story.add(cut)
    const { report, page } = said(bare(story))
    expect(report).toMatchObject({ ok: true, thread: { cut: [textId('entry', cut.id)] } })
    expect(page).toContain('writes (cut: by a removed device, without effect)')
    expect(page).toContain('| frank/frank | recipient | 2 | yes |')
  })

  test('makes the same page for ever, as long as the format has this number', () => {
    const story = begin()
    story.say(frank, 'accept')
    story.say(bob, 'message')
    story.say(frank, 'complete')
    const folder = filesOf(bare(story))
    expect([...folder].map(([path, bytes]) => [path, contentHash(bytes)])).toEqual([
      ['README.md', '540f5817707d661d92fe76afd0a17a3d86df54e08ed92046ca7864cc5d7ba2a5'],
      ['proof/roster.cbor', '9c8304a2964e6c9c6a0e0199ac0e8a439a3498fedc547e75814a28a8aab4d11c'],
      ['proof/thread.cbor', '8c2e3ff1350c8b7fbee4b30c245a3985bc01774353064c47dd3f639319d73466'],
      ['manifest.json', '095cff5e785ba498774dd3e7725b275c195afaee2c2b241dd6d059e1255c7ed0'],
    ])
    const other = new TextEncoder().encode(textOf(folder, 'manifest.json').replace('export 1', 'export 2'))
    const report = verifyExport(new Map([...folder, ['manifest.json', other]]))
    expect(faultsOf(report)[0]).toContain('another one than relay-node export 1')
  })

  test('is shown: a record with two heads', () => {
    const story = begin()
    const [one, two] = [story.draft(bob, 'revise'), story.draft(frank, 'revise')]
    story.add(one)
    story.add(two)
    const { report, page } = said(bare(story))
    expect(report.ok).toBe(true)
    expect(page).toContain('nobody has settled them')
    for (const { id } of [one, two]) expect(page).toContain(`Revision \`${textId('revision', id)}\``)
  })
})

test('only who takes part exports', async () => {
  const world = await trio()
  const { bob: sender, carol } = world
  const { thread_id } = await handOff(sender, 'frank', 'one')
  expect(await symbolOf(carol.node.exportThread({ thread_id }))).toBe('thread_not_found')
  await sender.node.share({ thread_id, reader: 'carol' }, SESSION)
  await arrives(world, carol, thread_id)
  expect(await symbolOf(carol.node.exportThread({ thread_id }))).toBe('forbidden')
  expect(await symbolOf(sender.node.exportThread({ thread_id, cursor: 'x' }))).toBe('invalid_params')
  expect(await symbolOf(sender.node.exportThread({ thread_id: 'ho_aaaa' }))).toBe('thread_not_found')
})
