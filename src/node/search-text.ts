/** What of a thread can be searched: each text with where it stands, opened anew whenever it is needed and kept nowhere. */
import {
  artifactId,
  type ContinuityRecord,
  type Hex,
  isBefore,
  type Kind,
  type Node,
  recordHeads,
} from '../../protocol/index.ts'
import { artifactLabels, artifactName, artifactText } from './artifacts.ts'
import type { MatchField } from './api.ts'
import { type AnyBody, boundAction, openContent } from './contents.ts'
import type { Held } from './held.ts'
import { textsIn } from './record-shape.ts'
import { compoundsOf, wordsOf } from './search-words.ts'
import type { Thread } from './threads.ts'

/** How much a match counts depends on the sort of text, the first most. `earlier`: what was replaced since. */
export const WEIGHED = ['heading', 'words', 'names', 'content', 'earlier'] as const
export type Weighed = (typeof WEIGHED)[number]

export interface Passage {
  readonly field: MatchField
  readonly weighed: Weighed
  readonly node: Node
  readonly text: string
  readonly artifact: Hex | undefined
}

/** Of the texts of one sort in one thread so much is looked at, newest first; in UTF-16 units. */
const LENGTH_CHARS_MAX: Readonly<Record<Weighed, number>> = {
  heading: 64 * 1024,
  words: 256 * 1024,
  names: 64 * 1024,
  content: 256 * 1024,
  earlier: 64 * 1024,
}

const SEARCHED: ReadonlySet<Kind> = new Set<Kind>([
  'create',
  'message',
  'complete',
  'cancel',
  'revise',
  'annotate',
  'resolve',
  'approve',
])

/** The passages of a thread, newest entry first, within the bounds. What is not here or cannot be opened here has none. */
export async function* passagesOf(held: Held, thread: Thread): AsyncGenerator<Passage> {
  const left = { ...LENGTH_CHARS_MAX }
  const heads = new Set(recordHeads(thread.graph).map(({ entry }) => entry.id))
  /** Revisions that carry an artifact of the name. */
  const carriers = new Map<string, Node[]>()
  for (const node of thread.graph.nodes.toReversed()) {
    const { kind } = node.entry.header
    if (!SEARCHED.has(kind)) continue
    // Only the first words of a long thread, and its record, are still wanted once there is no room for more.
    if (left.words === 0 && left.content === 0 && kind !== 'create' && kind !== 'revise') continue
    const opened = await openContent(held, thread, node.entry)
    if (opened.state !== 'ok') continue
    const roomFor = (weighed: Weighed): number => left[weighed]
    const artifacts = attached(opened, { held, thread, node, carriers, roomFor })
    for await (const said of concat(saidIn(thread, opened, heads.has(node.entry.id)), artifacts)) {
      const text = said.text.slice(0, left[said.weighed]).toWellFormed()
      left[said.weighed] -= text.length
      if (text !== '') yield { artifact: undefined, ...said, node, text }
    }
  }
}

type Said = Pick<Passage, 'field' | 'weighed' | 'text'> & { readonly artifact?: Hex }

function saidIn(thread: Thread, opened: AnyBody, isHead: boolean): Said[] {
  switch (opened.kind) {
    case 'create': {
      const { summary, question, record } = opened.body
      const action = boundAction(thread, opened.body)?.action
      return [
        { field: 'summary', weighed: 'heading', text: summary },
        ...words('question', question),
        ...words(
          'proposed_action',
          action && [action.description, action.rationale, ...action.target_files].join('\n'),
        ),
        ...(record ? recordTexts(record, isHead) : []),
      ]
    }
    case 'revise':
      return [...words('note', opened.body.note), ...recordTexts(opened.body.record, isHead)]
    case 'message':
      return [...words('message', opened.body.body), ...words('message', opened.body.payload)]
    case 'complete':
      return words('result', opened.body.result_summary)
    case 'cancel':
    case 'approve':
      return words('reason', opened.body.reason)
    case 'annotate':
      return words('annotation', opened.body.text)
    case 'resolve':
      return words('note', opened.body.note)
    case 'accept':
      return []
  }
}

function words(field: MatchField, text: string | undefined): Said[] {
  return text === undefined || text === '' ? [] : [{ field, weighed: 'words', text }]
}

function recordTexts(record: ContinuityRecord, isHead: boolean): Said[] {
  const { objective, ...rest } = record
  const others = [...objective.acceptance_criteria, ...textsIn(rest)].join('\n')
  return [
    { field: 'objective', weighed: isHead ? 'heading' : 'earlier', text: objective.summary },
    { field: 'record', weighed: isHead ? 'words' : 'earlier', text: others },
  ]
}

interface Attaching {
  readonly held: Held
  readonly thread: Thread
  readonly node: Node
  /** Revisions that carry an artifact of the name, of those that came later. */
  readonly carriers: Map<string, Node[]>
  roomFor(weighed: Weighed): number
}

/** The artifacts that an entry carries. One that a later revision carries anew under its name counts as earlier. */
async function* attached({ body, kind }: AnyBody, attaching: Attaching): AsyncGenerator<Said> {
  if (!('artifacts' in body)) return
  const { held, thread, node, carriers, roomFor } = attaching
  const isRevision = kind === 'create' || kind === 'revise'
  for (const artifact of body.artifacts) {
    const name = artifactName(artifact)
    const later = carriers.get(name) ?? []
    const isReplaced = isRevision && later.some((other) => isBefore(node, other))
    if (isRevision) carriers.set(name, [...later, node])
    const id = artifactId(artifact)
    const labels = Object.values(artifactLabels(artifact)).join('\n')
    yield { field: 'artifact_name', weighed: isReplaced ? 'earlier' : 'names', text: labels, artifact: id }
    const weighed = isReplaced ? 'earlier' : 'content'
    const room = roomFor(weighed)
    const text = room > 0 ? await artifactText(held, thread, { artifact, node }, room) : undefined
    if (text !== undefined) yield { field: 'artifact_text', weighed, text, artifact: id }
  }
}

async function* concat<T>(first: readonly T[], then: AsyncIterable<T>): AsyncGenerator<T> {
  yield* first
  yield* then
}

/** What a thread holds, for the index: all words, by how much they count. */
export async function wordsIn(held: Held, thread: Thread): Promise<Map<Weighed, string[]>> {
  const words = new Map<Weighed, string[]>()
  for await (const { weighed, text } of passagesOf(held, thread)) {
    const list = words.get(weighed) ?? []
    for (const compound of compoundsOf(text)) list.push(...wordsOf(compound))
    words.set(weighed, list)
  }
  return words
}
