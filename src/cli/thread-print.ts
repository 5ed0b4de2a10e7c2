/** A handoff on the screen: its state, what was said, what was observed about delivery, and what can be done next. */
import type {
  ActionView,
  AnnotationView,
  ArtifactListing,
  Delivery,
  EntryContent,
  EntryView,
  SaidResult,
  Status,
  ThreadCommon,
  ThreadView,
} from '../node/api.ts'
import { SAYS } from '../export/says.ts'
import { oneLine, openContent, outline, partyName, printContent } from './peer-text.ts'
import type { Printer } from './print.ts'
import { clockTime } from './time-text.ts'

const NAME_LENGTH_CHARS_MAX = 100

const STATUS_STYLE = {
  pending: 'yellow',
  accepted: 'cyan',
  completed: 'green',
  cancelled: 'gray',
} as const satisfies Record<Status, string>

/** `pending`, or `cancelled, not final: waiting for frank/frank-xps` */
export function statusText(
  printer: Printer,
  thread: Pick<ThreadCommon, 'status' | 'final'> & Partial<Pick<ThreadCommon, 'waiting_for'>>,
): string {
  const { waiting_for: waitingFor = [] } = thread
  const status = printer.styled(STATUS_STYLE[thread.status], thread.status)
  const ended = thread.status === 'completed' || thread.status === 'cancelled'
  if (!ended) return status
  if (thread.final) return `${status}, final`
  return `${status}, not final${waitingFor.length > 0 ? `: waiting for ${waitingFor.join(', ')}` : ''}`
}

/** Four facts that are never mixed: stored here, stored at a carrier, delivered, accepted. */
function deliveryText(delivery: Delivery): string {
  const facts = [
    ...(delivery.stored_here ? ['stored here'] : []),
    ...(delivery.carriers ?? []).map(({ name, at }) => `stored at ${name} ${clockTime(at)}`),
    ...(delivery.delivered ?? []).map(({ device, at }) => `delivered to ${device} ${clockTime(at)}`),
    ...(delivery.accepted === undefined
      ? []
      : [`accepted by ${delivery.accepted.device} ${clockTime(delivery.accepted.at)}`]),
  ]
  if ((delivery.delivered ?? []).length === 0) facts.push('not delivered yet')
  return facts.join(' · ')
}

/** The lines that stand under every answer of a command that changed a thread. */
export function printCommon(printer: Printer, thread: ThreadCommon): void {
  printer.line(`  ${thread.thread_id}  ${statusText(printer, thread)}`)
  printer.line(`  ${deliveryText(thread.delivery)}`)
}

/** The lines that stand under the answer of a command that said something. */
export function printSaid(printer: Printer, said: SaidResult): void {
  printCommon(printer, said)
  for (const warning of said.warnings) printer.warn(warning)
}

/** The whole thread. */
export function printThread(printer: Printer, thread: ThreadView): void {
  printer.line(`${printer.styled('bold', thread.thread_id)}  ${thread.intent}  ${statusText(printer, thread)}`)
  const { from, to, side } = thread
  const sender = side === 'out' ? `${from.handle} (you)` : partyName(from)
  const recipient = side === 'in' ? `${to.handle} (you)` : partyName(to)
  printer.line(`From ${sender} to ${recipient}, ${clockTime(thread.created_at)}`)
  printer.line(`Delivery: ${deliveryText(thread.delivery)}`)
  for (const reader of thread.readers)
    printer.line(
      `Read by ${reader.me ? `${reader.handle} (you)` : partyName(reader)} on ${reader.devices.join(', ')}, since ${reader.shared_by} shared it`,
    )
  if (thread.parent_thread_id !== undefined) printer.line(`Follows ${thread.parent_thread_id}`)
  printWarnings(printer, thread)
  for (const entry of thread.entries) {
    printer.line()
    printEntry(printer, entry)
  }
  for (const annotation of thread.annotations) printAnnotation(printer, annotation)
  if (thread.action !== undefined) {
    printer.line()
    printer.line(`Proposed action: ${actionText(thread.action)}, digest ${thread.action.digest}`)
  }
  printer.line()
  if (thread.artifacts.length > 0) printer.line(`Read an attachment: relay-node show ${thread.thread_id} --artifact ID`)
  for (const next of nextSteps(thread)) printer.line(next)
}

function printWarnings(printer: Printer, thread: ThreadView): void {
  if (thread.conflicting) printer.warn('Two answers were given at once; the lead one counts.')
  if (thread.repudiated) printer.warn('A device signed two entries with one number; what it accepted may be undone.')
  if (thread.forked) {
    const heads = thread.record?.shows.join(', ') ?? ''
    printer.warn(`Two revisions were written at once, and nobody has settled them yet: ${heads}`)
  }
  for (const device of thread.forks)
    printer.warn(`${device} signed two entries with one number. Ask its owner what happened.`)
  const removed = thread.participants.filter((one) => one.removed)
  for (const { device, fenced } of removed)
    printer.warn(
      `${device} (removed${fenced ? ', fenced off' : ''}): what it writes without that being known does not count.`,
    )
  if (thread.action?.mismatch === true)
    printer.warn('The proposed action here is not the one that the sender signed for. Do not approve it.')
}

function printEntry(printer: Printer, entry: EntryView): void {
  const number = entry.sequence_mark ?? (entry.sequence_no === undefined ? '' : String(entry.sequence_no))
  const marks = [
    entry.outcome ?? entry.verdict ?? '',
    entry.late ? 'late: came after the end' : '',
    entry.void ? 'without effect' : '',
    entry.cut ? 'cut off' : '',
  ].filter((mark) => mark !== '')
  const who = entry.mine ? `${entry.from.handle} (you)` : partyName(entry.from)
  const head = [
    number === '' ? '' : `#${number}`,
    who,
    entry.reader === undefined ? SAYS[entry.kind] : `shares it with ${entry.reader}, to read`,
    marks.length > 0 ? `[${marks.join(', ')}]` : '',
    clockTime(entry.sent_at),
  ]
  printer.line(printer.styled('bold', head.filter((part) => part !== '').join(' ')))
  if (entry.body === 'missing') printer.line('  (its text has not arrived yet)')
  if (entry.body === 'unreadable') printer.line('  (its text does not open)')
  if (entry.content !== undefined) {
    const { value, foreign } = openContent(entry.content)
    for (const text of entryTexts(value)) printContent(printer, text, foreign)
  }
  for (const artifact of entry.artifacts ?? []) printArtifact(printer, artifact)
}

/** One that is still open. */
function printAnnotation(printer: Printer, annotation: AnnotationView): void {
  const { annotation_id, from, mine, assignee, artifact_id, content, body } = annotation
  const about = artifact_id ?? annotation.revision_id ?? annotation.entry_id
  const who = mine ? `${from.handle} (you)` : partyName(from)
  printer.line()
  printer.line(printer.styled('bold', `${annotation_id} by ${who}, open, about ${about}`))
  if (assignee !== undefined) printer.line(`  for ${assignee}`)
  if (body === 'missing') printer.line('  (its text has not arrived yet)')
  if (content === undefined) return
  const { value, foreign } = openContent(content)
  if (value.selector) printContent(printer, `> ${value.selector.exact}`, foreign)
  printContent(printer, value.text, foreign)
}

function entryTexts(content: EntryContent): string[] {
  const { summary, body, text, result_summary, reason, note, question, proposed_action, record, payload } = content
  const plain = [summary, body, text, result_summary, reason, note].filter((part) => part !== undefined && part !== '')
  return [
    ...plain.map(String),
    ...(question === undefined ? [] : [`Question: ${question}`]),
    ...(proposed_action === undefined ? [] : ['Proposes:', ...outline(proposed_action)]),
    ...(record === undefined ? [] : ['Record:', ...outline(record, 1)]),
    ...(payload === undefined ? [] : ['Payload:', ...outline(payload, 1)]),
  ]
}

function printArtifact(printer: Printer, artifact: ArtifactListing): void {
  const { value, foreign } = openContent(artifact.content)
  const named = ['path', 'command', 'name', 'title', 'url', 'schema_url'].flatMap((key) => value[key] ?? [])
  printContent(printer, `${artifact.type} ${oneLine(named.join(' '), NAME_LENGTH_CHARS_MAX)}`, foreign)
  const { artifact_id, size, sha256, here, here_bytes: part = 0 } = artifact
  const place = here ? '' : part > 0 ? `  ${part} of them here` : '  not fetched yet'
  printer.line(`    ${artifact_id}  ${size} bytes  sha256 ${sha256.slice(0, 12)}…${place}`)
}

function actionText(action: ActionView): string {
  return action.verdict === 'none' ? 'nobody has answered yet' : action.verdict
}

/** What this person can do now. */
function nextSteps(thread: Pick<ThreadView, 'thread_id' | 'side' | 'status' | 'action'>): string[] {
  const { thread_id: id, side, status, action } = thread
  if (side === 'reader') return ['It was shared with you to read.']
  if (status === 'completed' || status === 'cancelled') return []
  const steps: string[] = []
  if (side === 'in' && status === 'pending') steps.push(`Take it on: relay-node accept ${id}`)
  if (side === 'in' && status === 'accepted' && action !== undefined && action.verdict !== 'approved') {
    steps.push(`Answer the proposal: relay-node approve ${id}, or relay-node reject ${id}`)
  }
  if (side === 'in' && status === 'accepted') steps.push(`When it is done: relay-node complete ${id} --result TEXT`)
  if (side === 'out' && status === 'pending') steps.push(`Take it back: relay-node cancel ${id}`)
  steps.push(`Write: relay-node message ${id} TEXT`)
  return steps
}
