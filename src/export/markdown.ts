/**
 * The handoff as Markdown, from its proof alone: whoever has the proof can make the very same text. What people and
 * agents wrote stands in fenced blocks, so that it is read as it was written: no heading, link, image or HTML of theirs.
 */
import {
  annotationsOf,
  type Artifact,
  artifactId,
  deviceLabelIn,
  handleIn,
  threadDevices,
  contentHash,
  type Hex,
  type Node,
  type NodeOf,
  peerIdText,
  recordHeads,
  type Side,
  sideIn,
  stateDigest,
  textId,
  wholeSet,
} from '../../protocol/index.ts'
import { recordMarkdown } from '../record/markdown.ts'
import { visible } from '../visible.ts'
import { type ArtifactFile, artifactsOf } from './artifact-files.ts'
import type { Judged } from './judge.ts'
import { SAYS } from './says.ts'

/** An artifact's file, and whether its content is in the export. */
export interface ShownFile extends ArtifactFile {
  readonly isHere: boolean
}

export function threadMarkdown(judged: Judged, files: readonly ShownFile[]): string {
  const create = judged.graph.byKind.create[0]
  if (!create) throw new Error('what was judged has a create')
  const told = judged.nodes.filter(({ entry }) => entry.header.kind !== 'ack')
  const blocks = [
    [`# Handoff ${textId('thread', create.entry.id)}`],
    factLines(judged, create),
    ['## Devices'],
    deviceLines(judged),
    ['## What was said'],
    ...told.flatMap((node) => entryBlocks(judged, node, files)),
    ['## Record'],
    ...recordBlocks(judged),
    ['## Annotations'],
    annotationLines(judged),
    ['## Proof'],
    [PROOF],
  ]
  return `${blocks.map((lines) => lines.join('\n')).join('\n\n')}\n`
}

const PROOF = `The folder \`proof\` holds what this page was made from: signed entries as they were received, their sealed bodies, a key for each body, and the roster that says whose devices signed. Check all of it, offline:

    relay-node export verify .

Whoever has this folder can read the handoff. It opens nothing that was said later, and no other handoff.`

function factLines(judged: Judged, create: NodeOf<'create'>): string[] {
  const { state, roster, graph } = judged
  const { ctl, dev, ts } = create.entry.header
  const lead = graph.byId.get(state.lead.complete ?? '')?.entry.header
  const names = (devices: Iterable<Hex>): string =>
    [...devices].map((device) => deviceLabelIn(judged.roster, device)).join(', ')
  const facts: [string, string | undefined][] = [
    ['From', handleIn(judged.roster, roster.devices.get(dev)?.member)],
    ['To', handleIn(judged.roster, ctl.to)],
    ['Intent', ctl.intent],
    ['Status', `${state.status}, ${state.final ? 'final' : 'not final'}`],
    ['Waiting for', state.waitingFor.length > 0 ? names(state.waitingFor) : undefined],
    ['Outcome', lead?.kind === 'complete' ? lead.ctl.outcome : undefined],
    ['Sent', `${timeText(ts)} by the clock of its author`],
    ['Follows', ctl.parent === null ? undefined : textId('thread', ctl.parent)],
    ['Signed two histories', state.forked.size > 0 ? names(state.forked) : undefined],
    ['Conflicting', state.conflicting ? 'several answers count; the lead one is named first' : undefined],
    ['Repudiated', state.repudiated ? 'it was completed, and a fork of the recipient undid it' : undefined],
    ['Proposed action', actionText(judged)],
    ['Workspace', `${roster.name}, id \`${roster.ws}\``],
    ['State digest', `\`${stateDigest(graph, state)}\``],
  ]
  return facts.flatMap(([name, value]) => (value === undefined ? [] : [`- ${name}: ${value}`]))
}

function actionText({ action, graph }: Judged): string | undefined {
  if (!action) return undefined
  if (action.mismatch) return 'the one in the text is NOT the one that the sender signed for'
  const verdicts = graph.byKind.approve.map(({ entry }) => entry.header.ctl.verdict)
  const known = action.proposed ? 'is the one that the sender signed for' : 'its text is not here'
  return `${known}; answers: ${verdicts.length > 0 ? verdicts.join(', ') : 'none'}`
}

function deviceLines(judged: Judged): string[] {
  const { graph, roster } = judged
  const devices = [...new Set([...threadDevices(graph), ...graph.byDevice.keys()])]
  return [
    '| device | side | entries | removed | PeerId |',
    '|---|---|---|---|---|',
    ...devices.map((key) => {
      const side: Side | undefined = sideIn(graph, wholeSet(graph), key)
      const count = graph.byDevice.get(key)?.length ?? 0
      const removed = roster.devices.get(key)?.removed === true ? 'yes' : ''
      return `| ${deviceLabelIn(judged.roster, key)} | ${side ?? ''} | ${count} | ${removed} | ${peerIdText(key)} |`
    }),
  ]
}

function entryBlocks(judged: Judged, node: Node, files: readonly ShownFile[]): string[][] {
  const { id, header } = node.entry
  const { state, bodies } = judged
  const marks = [
    header.kind === 'complete' ? header.ctl.outcome : '',
    header.kind === 'approve' ? header.ctl.verdict : '',
    state.late.has(id) ? 'late: outside of what was sealed' : '',
    state.void.has(id) ? 'void: without effect' : '',
    state.cut.has(id) ? 'cut: by a removed device, without effect' : '',
  ].filter((mark) => mark !== '')
  const number = node.number === undefined ? '' : `${node.number}. `
  const marked = marks.length > 0 ? ` (${marks.join('; ')})` : ''
  const opened = bodies.get(id)
  return [
    [`### ${number}${deviceLabelIn(judged.roster, header.dev)} ${SAYS[header.kind]}${marked}`],
    [`\`${textId('entry', id)}\`, ${timeText(header.ts)}${targetText(judged, node)}`],
    ...(opened && opened.state !== 'ok' && opened.state !== 'none' ? [[NOT_READ[opened.state]]] : []),
    ...wordsOf(judged, node).map(([name, text]) => [`${name}:`, '', ...fenced(text)]),
    ...artifactsOf(opened).map((artifact) => artifactLines(artifact, files)),
  ]
}

const NOT_READ = {
  missing: 'Its text is not in this export.',
  sealed: 'Its text is sealed here, and its key is not in this export.',
  unreadable: 'What its author sealed is not of the form that it has to have.',
} as const

function targetText(judged: Judged, { entry: { header } }: Node): string {
  switch (header.kind) {
    case 'revise':
      return `, in place of ${header.ctl.base.map((id) => `\`${textId('revision', id)}\``).join(', ')}`
    case 'annotate':
      return `, about \`${textId('entry', header.ctl.target)}\``
    case 'resolve':
      return `, \`${textId('annotation', header.ctl.annotation)}\` by \`${textId('revision', header.ctl.revision)}\``
    case 'share':
      return `, ${handleIn(judged.roster, header.ctl.reader)}`
    case 'fence':
      return `, ${deviceLabelIn(judged.roster, header.ctl.device)}`
    case 'wrap':
      return header.ctl.adds === null ? '' : `, for ${deviceLabelIn(judged.roster, header.ctl.adds)}`
    default:
      return ''
  }
}

/** The texts of a body by their names, without the record of a head, which stands in its own section. */
function wordsOf(judged: Judged, { entry }: Node): [name: string, text: string][] {
  const opened = judged.bodies.get(entry.id)
  if (opened?.state !== 'ok') return []
  const named = (name: string, text: string | undefined): [string, string][] => (text ? [[name, text]] : [])
  const isHead = recordHeads(judged.graph).some((head) => head.entry.id === entry.id)
  switch (opened.kind) {
    case 'create': {
      const { summary, question, record } = opened.body
      const action = judged.action?.proposed
      return [
        ...named('Summary', summary),
        ...named('Question', question),
        ...named('Proposed action', action && JSON.stringify(action, null, 2)),
        ...named('Record', record && !isHead ? recordMarkdown(record) : undefined),
      ]
    }
    case 'message':
      return [...named('Text', opened.body.body), ...named('Payload', opened.body.payload)]
    case 'revise':
      return [
        ...named('Note', opened.body.note),
        ...named('Record', isHead ? undefined : recordMarkdown(opened.body.record)),
      ]
    case 'annotate': {
      const { text, selector, artifact, assignee } = opened.body
      return [
        ...named('About the words', selector && `${selector.prefix}${selector.exact}${selector.suffix}`),
        ...named('Text', text),
        ...named('Artifact', artifact && textId('artifact', artifact)),
        ...named('For', assignee && handleIn(judged.roster, assignee)),
      ]
    }
    case 'complete':
      return named('Result', opened.body.result_summary)
    case 'cancel':
    case 'approve':
      return named('Reason', opened.body.reason)
    case 'resolve':
      return named('Note', opened.body.note)
    case 'accept':
      return []
  }
}

function artifactLines(artifact: Artifact, files: readonly ShownFile[]): string[] {
  const id = artifactId(artifact)
  const file = files.find((one) => one.id === id)
  const labels = Object.entries(artifact).flatMap(([name, value]) =>
    typeof value === 'string' && !CONTENT.has(name) && name !== 'type' ? [`${name}: ${value}`] : [],
  )
  return [`Artifact, ${artifact.type}${file ? `, ${fileText(file)}` : ''}:`, '', ...fenced(labels.join('\n'))]
}

const CONTENT = new Set(['diff', 'inline', 'bytes', 'chunks'])

function fileText({ path, id, inBody, described, isHere }: ShownFile): string {
  const { size, sha256 } = described ?? { size: inBody?.length ?? 0, sha256: contentHash(inBody ?? new Uint8Array()) }
  const where = isHere ? `[${path}](${path})` : 'whose content is not in this export'
  return `\`${textId('artifact', id)}\`, ${size} bytes, SHA-256 \`${sha256}\`, ${where}`
}

function recordBlocks(judged: Judged): string[][] {
  const heads = recordHeads(judged.graph)
  const blocks = heads.flatMap(({ entry }) => {
    const opened = judged.bodies.get(entry.id)
    const record = opened?.state === 'ok' && 'record' in opened.body ? opened.body.record : undefined
    const title = `Revision \`${textId('revision', entry.id)}\`, by ${deviceLabelIn(judged.roster, entry.header.dev)}:`
    if (record) return [[title, '', ...fenced(recordMarkdown(record), 'markdown')]]
    return heads.length > 1 || opened?.state !== 'ok' ? [[title], ['It carries no record that can be read here.']] : []
  })
  if (blocks.length === 0) return [['There is none.']]
  const forked = 'Several revisions were written without knowing of each other, and nobody has settled them.'
  return heads.length > 1 ? [[forked], ...blocks] : blocks
}

function annotationLines({ graph, state }: Judged): string[] {
  const lines = annotationsOf(graph, state.cut).map(({ node, resolved }) => {
    const how = resolved ? `resolved by \`${textId('revision', resolved.entry.header.ctl.revision)}\`` : 'open'
    return `- \`${textId('annotation', node.entry.id)}\`, ${how}`
  })
  return lines.length > 0 ? lines : ['There are none.']
}

/** Between fences that are longer than any in the text; what cannot be seen is shown. */
function fenced(text: string, language = 'text'): string[] {
  const shown = visible(text.replace(/\n$/, ''))
  const run = Math.max(0, ...[...shown.matchAll(/`+/g)].map(([marks]) => marks.length))
  const fence = '`'.repeat(Math.max(3, run + 1))
  return [`${fence}${language}`, ...shown.split('\n'), fence]
}

/** RFC 3339, UTC; a clock may claim anything. */
function timeText(ms: number): string {
  return new Date(Math.min(Math.max(ms, 0), 8.64e15)).toISOString()
}
