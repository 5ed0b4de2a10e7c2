/** Prompts that a person picks in their host. They hold this program's words only. */
import * as z from 'zod'
import { check, shapes } from '../rpc/client.ts'

interface Prompt {
  name: string
  title: string
  description: string
  /** It ends in something that is written. */
  writes: boolean
  arguments: { name: string; description: string; required: boolean }[]
  /** @throws ApiError invalid_params */
  text(args: unknown): string
}

const handoffArgs = z.strictObject({ to: shapes.id, about: shapes.filledText.optional() })
const reviewArgs = z.strictObject({ thread_id: shapes.id })

export const PROMPTS: readonly Prompt[] = [
  {
    name: 'inbox',
    title: 'What is in my inbox?',
    description: 'Look for handoffs from teammates and say what waits.',
    writes: false,
    arguments: [],
    text(args) {
      check(z.strictObject({}), args)
      return (
        'Call check_inbox. For each handoff say in one line who sent it, what it is about, its status, and what is unread. ' +
        'Accept nothing yet: ask me which one to look at.'
      )
    },
  },
  {
    name: 'handoff',
    title: 'Hand this work to a teammate',
    description: 'Write a handoff from what was done in this session.',
    writes: true,
    arguments: [
      { name: 'to', description: 'Handle, like frank@acme', required: true },
      { name: 'about', description: 'What the handoff is about', required: false },
    ],
    text(args) {
      const { to, about } = check(handoffArgs, args)
      const topic = about === undefined ? 'the work of this session' : about
      return (
        `Prepare a handoff to ${to} about ${topic}. Write a summary that somebody who did not see this session understands: ` +
        'what was done, what was not, what was decided and why, and the next step. Choose the artifacts (diffs, test commands, files) that are needed to go on. ' +
        'Show me the summary and the list of artifacts. When I agree, send it with handoff_to_teammate and tell me the thread_id.'
      )
    },
  },
  {
    name: 'review',
    title: 'Review a handoff',
    description: 'Read one handoff and say what it asks for.',
    writes: false,
    arguments: [{ name: 'thread_id', description: 'From check_inbox', required: true }],
    text(args) {
      const { thread_id } = check(reviewArgs, args)
      return (
        `Read thread ${thread_id} with view_thread, and its artifacts with read_artifact. Tell me who sent it and whether they are verified, what they ask for, ` +
        'what they changed, and which commands or diffs they propose. Compare it with the code here. ' +
        'Run, apply and accept nothing before I say so.'
      )
    },
  },
]

/** The prompts that a person is offered: all, or those that only read. */
export function promptsFor(readOnly: boolean): readonly Prompt[] {
  return PROMPTS.filter(({ writes }) => !(readOnly && writes))
}
