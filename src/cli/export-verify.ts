/** relay-node export verify: checks an exported handoff, with nothing but the folder. */
import { lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import type { Fault } from '../export/judge.ts'
import { type Report, type ThreadReport, verifyExport } from '../export/verify.ts'
import type { Command } from './context.ts'
import { EXIT, type ExitCode, UsageError } from './failure.ts'
import { fileTrouble } from './input.ts'
import { oneLine } from './peer-text.ts'
import type { Printer } from './print.ts'

/** No export has such a file; what is larger is not read. */
const FILE_SIZE_BYTES_MAX = 1024 * 1024 * 1024
const SHOWN_LENGTH_CHARS_MAX = 160

export const run: Command<object> = async ({ printer }, args): Promise<ExitCode> => {
  const folder = args[0] ?? ''
  const { files, faults } = readFolder(folder)
  const report = verifyExport(files)
  const whole: Report = { ...report, ok: report.ok && faults.length === 0, faults: [...faults, ...report.faults] }
  printer.result(whole, () => printReport(printer, whole))
  return whole.ok ? EXIT.done : EXIT.refused
}

/** What lies in the folder. Links are not followed: they lead to something that is no part of it. */
function readFolder(folder: string): { files: Map<string, Uint8Array>; faults: Fault[] } {
  const files = new Map<string, Uint8Array>()
  const faults: Fault[] = []
  try {
    for (const found of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      const file = join(found.parentPath, found.name)
      const path = relative(folder, file).split(sep).join('/')
      if (found.isDirectory()) continue
      if (!found.isFile()) faults.push({ path, what: 'it is no plain file' })
      else if (lstatSync(file).size > FILE_SIZE_BYTES_MAX)
        faults.push({ path, what: 'it is too large to be a part of an export' })
      else files.set(path, new Uint8Array(readFileSync(file)))
    }
  } catch (error) {
    throw new UsageError(
      `${folder} cannot be read: ${fileTrouble(error)}.`,
      'Name a folder that relay-node export wrote.',
    )
  }
  return { files, faults }
}

function printReport(printer: Printer, report: Report): void {
  const { ok, faults, missing, thread, not_proven } = report
  if (ok) printer.done('Every file in it is what its proof says.')
  else printer.warn(`This is not what was exported: ${faults.length} ${faults.length === 1 ? 'fault' : 'faults'}.`)
  for (const { path, what } of faults) printer.line(`  ${oneLine(`${path}: ${what}`, SHOWN_LENGTH_CHARS_MAX)}`)
  for (const { id, what } of missing) printer.warn(`Was not there to be exported: ${what}, ${id}`)
  if (thread) printThread(printer, thread)
  printer.line('What no export can show:')
  for (const what of not_proven) printer.line(`  ${what}`)
}

function printThread(printer: Printer, thread: ThreadReport): void {
  const { thread_id, status, final, from, to, workspace, workspace_id, owner, devices, entries, roster_position } =
    thread
  printer.line(`${printer.styled('bold', thread_id)}  ${status}, ${final ? 'final' : 'not final'}, ${entries} entries`)
  printer.line(`From ${from} to ${to}. State digest ${thread.state_digest}`)
  const lists: [string, readonly string[]][] = [
    ['Waiting for', thread.waiting_for],
    ['Late', thread.late],
    ['Void', thread.void],
    ['Cut', thread.cut],
    ['Signed two histories', thread.forked],
    ['Newest entries', thread.heads],
  ]
  for (const [name, items] of lists) if (items.length > 0) printer.line(`${name}: ${items.join(', ')}`)
  if (thread.conflicting) printer.warn('Several answers were given at once; the lead one counts.')
  if (thread.repudiated) printer.warn('It was completed, and a fork of the recipient undid it.')
  if (thread.action === 'bound') printer.line('The proposed action is the one that the sender signed for.')
  if (thread.action === 'mismatch') printer.warn('The proposed action is not the one that the sender signed for.')
  printer.line('Compare with roster.workspace_id and peer_id of relay-node status --json:')
  printer.line(`  workspace ${workspace}, ${workspace_id}, roster up to ${roster_position}`)
  printer.line(`  owner ${owner.device}  ${owner.peer_id}`)
  for (const { device, peer_id, side } of devices) printer.line(`  ${side ?? ''} ${device}  ${peer_id}`)
}
