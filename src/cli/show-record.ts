/** relay-node show --record: the continuity record of a handoff, to be read or to be written on. */
import type { ContinuityRecord } from '../../protocol/index.ts'
import type { ConflictView, RecordView, ThreadView } from '../node/api.ts'
import { recordMarkdown } from '../record/markdown.ts'
import { readAlways } from './after-removal.ts'
import type { CommandContext } from './context.ts'
import { CommandError } from './failure.ts'
import { withNode } from './node-connection.ts'
import { oneLine, openContent, outline, printContent } from './peer-text.ts'
import type { Printer } from './print.ts'

const VALUE_LENGTH_CHARS_MAX = 200

export interface WantedRecord {
  thread: string
  revision: string | undefined
  /** In the form that `continue --record` takes. */
  markdown: boolean
}

export async function showRecord(context: CommandContext, { thread, revision, markdown }: WantedRecord): Promise<void> {
  const { printer } = context
  const view = await withNode(context, (node) =>
    readAlways(printer, (afterRemoval) =>
      node.call('tasks/get', { thread_id: thread, revision_id: revision, after_removal: afterRemoval }),
    ),
  )
  const { record, thread_id, forked } = view
  if (!record?.content) {
    throw new CommandError(
      'no_record',
      'There is no record in it that can be read here.',
      `See relay-node show ${thread_id}; write one with relay-node continue ${thread_id} --record FILE --expect ${view.revision_id}.`,
    )
  }
  const { value, foreign } = openContent(record.content)
  const text = recordMarkdown(value)
  printer.result(
    { thread_id, revisions: record.shows, forked, record: value, ...(markdown ? { markdown: text } : {}) },
    () => {
      // Into a file it goes as it is; what cannot be seen is escaped in it.
      if (markdown) return printContent(printer, text, foreign && process.stdout.isTTY, '')
      printRecord(printer, view, { record, value, foreign })
    },
  )
}

function printRecord(
  printer: Printer,
  { thread_id, forked }: ThreadView,
  { record, value, foreign }: { record: RecordView; value: ContinuityRecord; foreign: boolean },
): void {
  printer.line(`${printer.styled('bold', thread_id)}  ${record.shows.join(', ')}`)
  if (forked)
    printer.warn('Two revisions were written at once, and nobody has settled them yet; this is what they come to.')
  for (const line of outline(value)) printContent(printer, line, foreign)
  if (record.conflicts) {
    const conflicts = openContent(record.conflicts)
    for (const conflict of conflicts.value) printContent(printer, conflictText(conflict), conflicts.foreign)
  }
  const expected = record.shows.map((id) => `--expect ${id}`).join(' ')
  printer.line(`Go on from it: relay-node continue ${thread_id} --record FILE ${expected}`)
}

function conflictText({ field, values }: ConflictView): string {
  return `differs: ${field}: ${values.map((value) => oneLine(value ?? '(none)', VALUE_LENGTH_CHARS_MAX)).join(' | ')}`
}
