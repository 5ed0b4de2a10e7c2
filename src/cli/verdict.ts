/** relay-node approve and reject: a human's answer to a proposed action, bound to its exact bytes. */
import { randomUUID } from 'node:crypto'
import type { ProposedAction } from '../../protocol/index.ts'
import type { ThreadView } from '../node/api.ts'
import type { Command, CommandContext } from './context.ts'
import { CommandError, UsageError } from './failure.ts'
import { withNode } from './node-connection.ts'
import { openContent, partyName, printContent } from './peer-text.ts'
import { createPrinter, type Printer } from './print.ts'
import { readThread } from './show.ts'
import { printSaid } from './thread-print.ts'

const DIGEST_CHARS_ASKED = 6

interface Options {
  reason?: string
  allowSecrets?: boolean
}

export const runApprove: Command<Options> = (context, args, options) =>
  answer(context, { verdict: 'approve', id: args[0] ?? '', ...options })
export const runReject: Command<Options> = (context, args, options) =>
  answer(context, { verdict: 'reject', id: args[0] ?? '', ...options })

interface Answer extends Options {
  verdict: 'approve' | 'reject'
  id: string
}

async function answer(context: CommandContext, { verdict, id, reason, allowSecrets }: Answer): Promise<void> {
  const { printer } = context
  if (!process.stdin.isTTY || !process.stdout.isTTY) {
    throw new UsageError(
      `${verdict === 'approve' ? 'An approval' : 'A rejection'} is a person's: it needs a terminal, and this is none.`,
      `Run relay-node ${verdict} ${id} in a terminal window yourself.`,
    )
  }
  // With --json stdout is for the result alone.
  const output = printer.json ? process.stderr : process.stdout
  const screen = createPrinter({ json: false, stdout: output, stderr: process.stderr })
  const result = await withNode(context, async (node) => {
    const thread = await readThread(node, id)
    const digest = showAction(screen, thread)
    const { askLine } = await import('./prompts.ts')
    const typed = await askLine(
      `To ${verdict} exactly this, type the first ${DIGEST_CHARS_ASKED} characters of its digest:`,
      output,
    )
    if (typed.trim().toLowerCase() !== digest.slice(0, DIGEST_CHARS_ASKED)) {
      throw new CommandError(
        'digest_mismatch',
        'That is not how the digest begins. Nothing was answered.',
        `Run relay-node ${verdict} ${id} again.`,
      )
    }
    return node.call(verdict === 'approve' ? 'relay/approve' : 'relay/reject', {
      thread_id: thread.thread_id,
      digest,
      reason,
      allow_secrets: allowSecrets,
      metadata: { client_idempotency_key: randomUUID() },
    })
  })
  printer.result(result, () => {
    printer.done(verdict === 'approve' ? 'Approved.' : 'Rejected.')
    printSaid(printer, result)
  })
}

/** Prints all of the proposed action; its digest. */
function showAction(printer: Printer, thread: ThreadView): string {
  const { action, thread_id: id } = thread
  const proposal = thread.entries.find((entry) => entry.kind === 'create')?.content
  const opened = proposal === undefined ? undefined : openContent(proposal)
  if (action === undefined || opened?.value.proposed_action === undefined) {
    throw new CommandError('no_action', `Nothing is proposed in ${id}.`, `See relay-node show ${id}.`)
  }
  if (action.mismatch) {
    throw new CommandError(
      'action_mismatch',
      'The proposed action here is not the one that the sender signed for.',
      'Do not act on it. Ask the sender what happened.',
    )
  }
  printer.line(`${partyName(thread.from)} proposes, in ${id}:`)
  for (const text of actionTexts(opened.value.proposed_action)) printContent(printer, text, opened.foreign)
  if (action.verdict !== 'none') printer.warn(`It was ${action.verdict} before.`)
  printer.line(`Digest of exactly this: ${printer.styled('bold', action.digest)}`)
  return action.digest
}

function actionTexts(action: ProposedAction): string[] {
  const { description, rationale, target_files: files, base_commit: base, suggested_diff: diff } = action
  return [
    description,
    `Why: ${rationale}`,
    files.length === 0 ? 'Files: none named' : `Files:\n${files.map((file) => `  ${file}`).join('\n')}`,
    ...(base === undefined ? [] : [`On commit: ${base}`]),
    ...(diff === undefined ? [] : [`Suggested change:\n${diff}`]),
  ]
}
