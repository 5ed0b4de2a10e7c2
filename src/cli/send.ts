/** relay-node send: a new handoff. */
import { randomUUID } from 'node:crypto'
import { statSync } from 'node:fs'
import { basename } from 'node:path'
import type { ArtifactInput, NewHandoffParams } from '../node/api.ts'
import { ARTIFACT_SIZE_BYTES_MAX, type Intent, INTENTS } from '../../protocol/index.ts'
import type { Command } from './context.ts'
import { findBase } from './diff-base.ts'
import { CommandError, UsageError } from './failure.ts'
import { readNamedFile, textOrStdin, utf8 } from './input.ts'
import { withNode } from './node-connection.ts'
import { readAction, readWholeRecord } from './shaped-file.ts'
import type { Printer } from './print.ts'
import { printSaid } from './thread-print.ts'

/** What every command takes that says something with attachments. */
export interface SayingOptions {
  diff?: string[]
  file?: string[]
  test?: string[]
  link?: string[]
  allowSecrets?: boolean
}

interface Options extends SayingOptions {
  intent?: string
  summary?: string
  question?: string
  action?: string
  record?: string
  parent?: string
}

export const run: Command<Options> = async (context, args, options) => {
  const { printer } = context
  if (options.summary === undefined)
    throw new UsageError(
      'What is it about? --summary is missing.',
      'Write --summary TEXT, or --summary - to read it from standard input.',
    )
  const handoff: NewHandoffParams = {
    recipient: args[0] ?? '',
    intent: intentOf(options),
    artifacts: await artifactsOf(printer, options),
    question: options.question,
    proposed_action: options.action === undefined ? undefined : readAction(options.action),
    record: options.record === undefined ? undefined : readWholeRecord(options.record),
    parent_thread_id: options.parent,
    allow_secrets: options.allowSecrets,
    message: { parts: [{ type: 'text', text: await textOrStdin(options.summary) }] },
    metadata: { client_idempotency_key: randomUUID() },
  }
  const result = await withNode(context, (node) => node.call('message/send', handoff))
  printer.result(result, () => {
    printer.done('Handed off.')
    printSaid(printer, result)
    for (const similar of result.similar) printer.warn(`An open handoff says nearly the same: ${similar}`)
    printer.line(`Follow it: relay-node show ${result.thread_id}`)
  })
}

/** What was asked for, or what the other options say. */
function intentOf(options: Options): Intent {
  if (options.intent === undefined) {
    if (options.action !== undefined) return 'propose_action'
    return options.question === undefined ? 'inform' : 'ask_question'
  }
  const intent = INTENTS.find((name) => name === options.intent)
  if (intent === undefined)
    throw new UsageError(`"${options.intent}" is not an intent.`, `Choose one of ${INTENTS.join(', ')}.`)
  return intent
}

/** The artifacts that `options` name, in the order of their kinds; undefined for none. */
export async function artifactsOf(printer: Printer, options: SayingOptions): Promise<ArtifactInput[] | undefined> {
  const diffs: ArtifactInput[] = []
  for (const path of options.diff ?? []) diffs.push(await diffArtifact(printer, path))
  const artifacts = [
    ...diffs,
    ...(options.file ?? []).map(fileArtifact),
    ...(options.test ?? []).map((command): ArtifactInput => ({ type: 'test_command', command })),
    ...(options.link ?? []).map((url): ArtifactInput => ({ type: 'link', url })),
  ]
  return artifacts.length > 0 ? artifacts : undefined
}

/** With what the diff was made on, as far as the working copy that the person stands in tells. */
async function diffArtifact(printer: Printer, path: string): Promise<ArtifactInput> {
  const diff = utf8(readContent(path))
  if (diff === undefined) throw new UsageError(`${path} is not text.`, 'A diff is text; send other files with --file.')
  const base = await findBase(diff, process.cwd())
  if (!base) printer.progress(`${path} is sent without a base commit: it fits none of the newest ones here.`)
  return { type: 'file_diff', path: changedFile(diff) ?? basename(path), diff, ...base }
}

/** The bytes of a file that is to be attached. One that is too large is not even read. */
function readContent(path: string): Buffer {
  const size = sizeOf(path)
  if (size <= ARTIFACT_SIZE_BYTES_MAX) return readNamedFile(path)
  throw new CommandError(
    'payload_too_large',
    `${path} has ${size} bytes; one artifact holds at most ${ARTIFACT_SIZE_BYTES_MAX}.`,
    'Name a commit instead, send a link with --link, or send it in parts.',
  )
}

/** Bytes of a file; 0 where reading it will say what is wrong. */
function sizeOf(path: string): number {
  try {
    return statSync(path).size
  } catch {
    return 0
  }
}

/** The one file that a unified diff changes; undefined if it changes several. */
function changedFile(diff: string): string | undefined {
  const paths = [...diff.matchAll(/^(?:\+\+\+|---) (?:[ab]\/)?([^\t\r\n]+)/gm)].map((match) => match[1] ?? '')
  const changed = new Set(paths.filter((path) => path !== '/dev/null'))
  const [only] = changed
  return changed.size === 1 ? only : undefined
}

function fileArtifact(path: string): ArtifactInput {
  const bytes = readContent(path)
  const text = utf8(bytes)
  const name = basename(path)
  if (text !== undefined && !CONTROL.test(text)) return { type: 'file', name, media_type: 'text/plain', text }
  return { type: 'file', name, media_type: 'application/octet-stream', base64: bytes.toString('base64') }
}

/** What no text file holds. JSON would spell each such byte with six. */
const CONTROL = /[^\P{Cc}\t\n\r\f]/u
