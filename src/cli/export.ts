/** relay-node export: a handoff as a folder that can be read, and checked by anybody. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { type Hex, stateDigest, textId } from '../../protocol/index.ts'
import { artifactFiles } from '../export/artifact-files.ts'
import { exportFolder } from '../export/folder.ts'
import { judge, type Judged } from '../export/judge.ts'
import type { Proof, ProofEntry } from '../export/proof.ts'
import { ApiError, type RpcClient } from '../rpc/client.ts'
import { readAlways } from './after-removal.ts'
import { readAttachment } from './artifact.ts'
import type { Command } from './context.ts'
import { CommandError } from './failure.ts'
import { fileTrouble } from './input.ts'
import { withNode } from './node-connection.ts'
import type { Printer } from './print.ts'

interface Options {
  output?: string
}

export const run: Command<Options> = async (context, args, options) => {
  const { printer } = context
  const { threadId, judged, contents } = await withNode(context, (node) =>
    readAlways(printer, (afterRemoval) => fetchExport({ node, printer, afterRemoval }, args[0] ?? '')),
  )
  const { files, missing } = exportFolder(judged, contents)
  const folder = resolve(options.output ?? threadId)
  writeFolder(folder, files)
  const result = {
    thread_id: threadId,
    folder,
    state_digest: stateDigest(judged.graph, judged.state),
    files: [...files.keys()].toSorted(),
    missing,
  }
  printer.result(result, () => {
    printer.done(`Wrote ${files.size} files to ${folder}.`)
    for (const { id, what } of missing) printer.warn(`Not here, so not in it: ${what}, ${id}`)
    printer.line('Whoever has this folder can read the handoff. Its proof opens nothing that is said later.')
    printer.line(`Read README.md in it. Check it anywhere: relay-node export verify ${folder}`)
  })
}

interface Source {
  readonly node: RpcClient
  readonly printer: Printer
  readonly afterRemoval: boolean
}

interface Fetched {
  threadId: string
  judged: Judged
  /** Contents that lie in chunks, by the full id of their artifact. */
  contents: Map<Hex, Uint8Array>
}

async function fetchExport(from: Source, typed: string): Promise<Fetched> {
  const { threadId, proof } = await fetchProof(from, typed)
  const { judged, faults } = judge(proof)
  const [fault] = faults
  if (!judged || fault) {
    throw new CommandError(
      'export_failed',
      `What this node holds of the handoff does not pass its own check: ${fault?.what ?? 'nothing is there'}.`,
      'Run relay-node doctor. Nothing was written.',
    )
  }
  const contents = new Map<Hex, Uint8Array>()
  for (const { id, described } of artifactFiles(judged)) {
    const content = described && (await fetchContent(from, threadId, textId('artifact', id)))
    if (content) contents.set(id, content)
  }
  return { threadId, judged, contents }
}

async function fetchProof({ node, afterRemoval }: Source, typed: string): Promise<{ threadId: string; proof: Proof }> {
  const entries: ProofEntry[] = []
  const roster: Uint8Array[] = []
  for (let cursor: string | undefined; ;) {
    const page = await node.call('relay/export', { thread_id: typed, cursor, after_removal: afterRemoval })
    for (const { envelope, body, key } of page.entries)
      entries.push({ envelope: bytes(envelope), sealed: optional(body), key: optional(key) })
    roster.push(...page.roster.map(bytes))
    cursor = page.next_cursor
    if (cursor !== undefined) continue
    const actionKey = page.action_key === undefined ? null : new Uint8Array(Buffer.from(page.action_key, 'hex'))
    return { threadId: page.thread_id, proof: { roster, entries, actionKey } }
  }
}

/** undefined where it is on another laptop that cannot be reached: the export says so. */
async function fetchContent(
  { node, printer, afterRemoval }: Source,
  thread: string,
  artifact: string,
): Promise<Uint8Array | undefined> {
  try {
    return new Uint8Array((await readAttachment(node, printer, { thread, artifact, afterRemoval })).bytes)
  } catch (error) {
    if (error instanceof CommandError || (error instanceof ApiError && error.symbol !== 'internal')) return undefined
    throw error
  }
}

function bytes(base64: string): Uint8Array {
  return new Uint8Array(Buffer.from(base64, 'base64'))
}

function optional(base64: string | undefined): Uint8Array | null {
  return base64 === undefined ? null : bytes(base64)
}

/** A folder that is there already is somebody's; one that was begun and not finished is taken away again. */
function writeFolder(folder: string, files: ReadonlyMap<string, Uint8Array>): void {
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    throw notWritten(folder, error)
  }
  try {
    for (const [path, content] of files) {
      const file = join(folder, ...path.split('/'))
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
      writeFileSync(file, content, { flag: 'wx', mode: 0o600 })
    }
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw notWritten(folder, error)
  }
}

function notWritten(folder: string, error: unknown): CommandError {
  return new CommandError(
    'folder_not_written',
    `${folder} cannot be written: ${fileTrouble(error)}.`,
    'Name a folder that does not exist yet, in one that does: --output FOLDER.',
  )
}
