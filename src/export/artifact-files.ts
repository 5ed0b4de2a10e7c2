/** The contents of artifacts as files of the export: one for each, under a name that is safe on every system. */
import { type Artifact, artifactContent, artifactId, type Hex, type Node } from '../../protocol/index.ts'
import type { Judged, Opened } from './judge.ts'

export interface ArtifactFile {
  /** Its id in full. */
  readonly id: Hex
  readonly artifact: Artifact
  /** The first entry that carries it. */
  readonly node: Node
  /** In the folder. */
  readonly path: string
  /** undefined where it lies in chunks, which are no part of the proof: then size and hash in the signed body tell it. */
  readonly inBody: Uint8Array | undefined
  readonly described: { readonly size: number; readonly sha256: Hex } | undefined
}

export function artifactsOf(opened: Opened | undefined): readonly Artifact[] {
  return opened?.state === 'ok' && 'artifacts' in opened.body ? opened.body.artifacts : []
}

/** In the order in which entries carry them; what several carry is one. */
export function artifactFiles({ nodes, bodies }: Pick<Judged, 'nodes' | 'bodies'>): ArtifactFile[] {
  const files = new Map<Hex, ArtifactFile>()
  for (const node of nodes) {
    for (const artifact of artifactsOf(bodies.get(node.entry.id))) {
      const content = artifactContent(artifact)
      const id = artifactId(artifact)
      if (content === undefined || files.has(id)) continue
      const path = `artifacts/${String(files.size + 1).padStart(3, '0')}-${safeName(artifact)}`
      const isBytes = content instanceof Uint8Array
      files.set(id, {
        id,
        artifact,
        node,
        path,
        inBody: isBytes ? content : undefined,
        described: isBytes ? undefined : { size: content.size, sha256: content.sha256 },
      })
    }
  }
  return [...files.values()]
}

const NAME_LENGTH_CHARS_MAX = 80
const ENDINGS: Partial<Record<Artifact['type'], string>> = { file_diff: '.diff', api_contract: '.txt' }

/**
 * The number before it makes it differ from every other, whatever the case of letters means, and keeps it from being a
 * name that a system reserves. Only letters, digits and single marks are left.
 */
function safeName(artifact: Artifact): string {
  const typed = 'path' in artifact ? artifact.path : 'name' in artifact ? artifact.name : 'contract'
  const base = typed.split(/[/\\]/).findLast((part) => part !== '') ?? ''
  const safe = base
    .replaceAll(/[^A-Za-z0-9._-]+/g, '_')
    .slice(-NAME_LENGTH_CHARS_MAX)
    .replaceAll(/^[._-]+|[._-]+$/g, '')
  return `${safe === '' ? 'artifact' : safe}${ENDINGS[artifact.type] ?? ''}`
}
