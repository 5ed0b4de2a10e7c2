/** The files of an export, as a function of what was judged and of the contents that lie outside of bodies. */
import { contentHash, type Hex, recordHeads, stateDigest, textId } from '../../protocol/index.ts'
import { type ArtifactFile, artifactFiles } from './artifact-files.ts'
import type { Judged } from './judge.ts'
import { type ShownFile, threadMarkdown } from './markdown.ts'
import { encodeRoster, encodeThread, ROSTER_PATH, THREAD_PATH } from './proof.ts'

const README_PATH = 'README.md'
export const MANIFEST_PATH = 'manifest.json'
/** What is made from one proof, to the byte: whoever changes a page or a name changes this with it, since older exports are made anew to be checked. */
export const FORMAT = 'relay-node export 1'

/** Something that the export names and does not hold. */
export interface Missing {
  /** Id of the entry or artifact. */
  readonly id: string
  readonly what: string
}

export interface Folder {
  /** By path, with /; in the order of their names. */
  readonly files: ReadonlyMap<string, Uint8Array>
  readonly missing: readonly Missing[]
}

/** @param contents contents in chunks, by the full id of their artifact; those that are not given are named as missing */
export function exportFolder(judged: Judged, contents: ReadonlyMap<Hex, Uint8Array>): Folder {
  const shown = artifactFiles(judged).map((file): ShownFile & { content: Uint8Array | undefined } => {
    const content = file.inBody ?? contents.get(file.id)
    return { ...file, isHere: content !== undefined, content }
  })
  const utf8 = new TextEncoder()
  const files = new Map<string, Uint8Array>([
    [README_PATH, utf8.encode(threadMarkdown(judged, shown))],
    [ROSTER_PATH, encodeRoster(judged.proof)],
    [THREAD_PATH, encodeThread(judged.proof)],
  ])
  for (const { path, content } of shown) if (content) files.set(path, content)
  const missing = [...missingBodies(judged), ...shown.filter(({ isHere }) => !isHere).map(missingContent)]
  files.set(MANIFEST_PATH, utf8.encode(manifest(judged, files, missing)))
  return { files, missing }
}

function missingBodies({ nodes, bodies }: Judged): Missing[] {
  return nodes.flatMap(({ entry }) => {
    const state = bodies.get(entry.id)?.state
    if (state !== 'missing' && state !== 'sealed') return []
    const what = state === 'missing' ? 'its text' : 'the key of its text'
    return [{ id: textId('entry', entry.id), what: `${what} (${entry.header.kind})` }]
  })
}

function missingContent({ id, described }: ArtifactFile): Missing {
  return { id: textId('artifact', id), what: `its content of ${described?.size ?? 0} bytes` }
}

/** Hashes of every other file, and what they amount to. */
function manifest(judged: Judged, files: ReadonlyMap<string, Uint8Array>, missing: readonly Missing[]): string {
  const { graph, state, roster, nodes } = judged
  const value = {
    format: FORMAT,
    thread_id: textId('thread', graph.byKind.create[0]?.entry.id ?? ''),
    workspace: roster.name,
    workspace_id: roster.ws,
    roster_position: roster.point[0],
    status: state.status,
    final: state.final,
    state_digest: stateDigest(graph, state),
    heads: [...graph.heads].toSorted().map((id) => textId('entry', id)),
    revisions: recordHeads(graph).map(({ entry }) => textId('revision', entry.id)),
    entries: nodes.length,
    missing,
    files: [...files]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([path, bytes]) => ({
        path,
        size: bytes.length,
        sha256: contentHash(bytes),
      })),
  }
  return `${JSON.stringify(value, null, 2)}\n`
}
