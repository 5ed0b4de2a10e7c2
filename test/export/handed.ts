/** Handoffs of two real nodes, and what their exports hold. */
import type { Hex } from '../../protocol/index.ts'
import { exportFolder } from '../../src/export/folder.ts'
import { judge, type Judged } from '../../src/export/judge.ts'
import type { Proof, ProofEntry } from '../../src/export/proof.ts'
import type { ArtifactInput } from '../../src/node/api.ts'
import { EMPTY_RECORD } from '../../src/node/record-shape.ts'
import { agreed, arrives, handOff, type Laptop, pair, says, SESSION, viewOnce } from '../node/world.ts'

export const BYTES = Uint8Array.from({ length: 1024 }, (_, i) => i % 256)

const ARTIFACTS: ArtifactInput[] = [
  { type: 'file_diff', path: 'src/api/users.ts', diff: '@@ -1 +1 @@\n-a\n+b\n' },
  {
    type: 'file',
    name: 'logo.bin',
    media_type: 'application/octet-stream',
    base64: Buffer.from(BYTES).toString('base64'),
  },
  { type: 'file', name: 'Logo.bin', media_type: 'text/plain', text: 'in other letters' },
  { type: 'file', name: 'CON', media_type: 'text/plain', text: '' },
  { type: 'test_command', command: 'npm test', cwd: 'src' },
  { type: 'link', url: 'https://ci.example/41', title: 'run 41' },
  { type: 'file_ref', path: 'README.md', lines: '1-4' },
  { type: 'api_contract', inline: 'openapi: 3.1.0' },
]

/** A handoff with everything in it, as two laptops hold it. */
export async function everything() {
  const world = await pair()
  const { bob, frank } = world
  const record = {
    ...EMPTY_RECORD,
    objective: { summary: 'Paginate\n\n# not a heading', acceptance_criteria: ['tests pass'] },
  }
  const { thread_id, revision_id } = await handOff(
    bob,
    'frank',
    'Look at ```this``` ![x](https://evil.example/x)\n## Proof\n<b>',
    {
      intent: 'propose_action',
      proposed_action: { description: 'Drop the table', target_files: ['a.sql'], rationale: 'It is empty.' },
      artifacts: ARTIFACTS,
      record,
    },
  )
  await arrives(world, frank, thread_id)
  await frank.node.accept({ thread_id }, SESSION)
  await frank.node.sendMessage({ thread_id, message: says('Which page size?\u202e'), payload: { a: [1] } }, SESSION)
  await agreed(world, thread_id, bob, frank)
  const { annotation_id } = await frank.node.annotate(
    { thread_id, revision_id, body: 'why?', selector: { exact: 'Paginate' } },
    SESSION,
  )
  await agreed(world, thread_id, bob, frank)
  const revised = await bob.node.continueHandoff(
    {
      thread_id,
      expected_revision_id: revision_id,
      record: { open_questions: ['none'] },
      note: 'answered',
      resolves: [annotation_id],
    },
    SESSION,
  )
  await agreed(world, thread_id, bob, frank)
  const digest = (await frank.node.getThread({ thread_id })).action?.digest ?? ''
  await frank.node.approve({ thread_id, digest, reason: 'it is empty indeed' }, SESSION)
  await frank.node.complete({ thread_id, result_summary: 'dropped' }, SESSION)
  await viewOnce(world, bob, thread_id, ({ status, final }) => status === 'completed' && final)
  await world.until(
    'nothing is owed',
    async () => (await bob.node.status()).outbox + (await frank.node.status()).outbox === 0,
  )
  await agreed(world, thread_id, bob, frank)
  return { ...world, thread_id, revision_id: revised.revision_id }
}

/** What relay/export gives, page by page. */
export async function proofAt(laptop: Laptop, thread_id: string): Promise<Proof> {
  const entries: ProofEntry[] = []
  const roster: Uint8Array[] = []
  const bytes = (base64: string): Uint8Array => new Uint8Array(Buffer.from(base64, 'base64'))
  for (let cursor: string | undefined; ;) {
    const page = await laptop.node.exportThread({ thread_id, cursor })
    for (const { envelope, body, key } of page.entries)
      entries.push({ envelope: bytes(envelope), sealed: body ? bytes(body) : null, key: key ? bytes(key) : null })
    roster.push(...page.roster.map(bytes))
    cursor = page.next_cursor
    if (cursor !== undefined) continue
    const key = page.action_key === undefined ? null : new Uint8Array(Buffer.from(page.action_key, 'hex'))
    return { entries, roster, actionKey: key }
  }
}

function judgedOf(proof: Proof): Judged {
  const { judged, faults } = judge(proof)
  if (!judged || faults.length > 0) throw new Error(`not judged: ${faults[0]?.what ?? ''}`)
  return judged
}

export function filesOf(proof: Proof, contents: ReadonlyMap<Hex, Uint8Array> = new Map()): Map<string, Uint8Array> {
  return new Map(exportFolder(judgedOf(proof), contents).files)
}

export function textOf(files: ReadonlyMap<string, Uint8Array>, path: string): string {
  return new TextDecoder().decode(files.get(path))
}
