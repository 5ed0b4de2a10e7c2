/** relay-node apply --check: whether a diff fits the working copy here, and what has changed since it was made. It never applies one. */
import type { ArtifactListing } from '../node/api.ts'
import { readAttachment } from './artifact.ts'
import type { Command } from './context.ts'
import { touchedPaths } from './diff-base.ts'
import { CommandError, EXIT, UsageError } from './failure.ts'
import { openWorkingCopy, type WorkingCopy } from './git.ts'
import { utf8 } from './input.ts'
import { withNode } from './node-connection.ts'
import { openContent, printContent } from './peer-text.ts'
import type { Printer } from './print.ts'
import { readThread } from './show.ts'

interface Options {
  check?: boolean
  repo?: string
}

/** What is found; names of files are the diff's own words. */
interface Findings {
  applies: boolean
  /** Whether it was made in the same repository. */
  repo: 'same' | 'another' | 'unknown'
  base: {
    state: 'known' | 'unknown' | 'not given'
    commit?: string
    /** Commits that are here and not in the base. */
    commits_since?: number
    /** Commits of the base that are not in what is checked out here. */
    commits_apart?: number
  }
  untrusted: {
    files: { path: string; changed_since_base?: boolean; uncommitted: boolean }[]
    /** Hunks that do not fit, by the line at which they begin in the old file. */
    failed_hunks: { path: string; line: number }[]
    /** What git says. */
    problems: string[]
  }
}

const OBJECT_ID = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/
const SHOWN_COUNT_MAX = 50

export const run: Command<Options> = async (context, args, options) => {
  const { printer } = context
  const [thread = '', artifact = ''] = args
  if (options.check !== true)
    throw new UsageError(
      'relay-node applies nothing: what a diff may do here is for a person to decide.',
      'Add --check to see whether it fits. To apply it: relay-node show THREAD --artifact ID --out FILE, read it, then git apply FILE.',
    )
  const { attachment, listing } = await withNode(context, async (node) => {
    const found = await readAttachment(node, printer, { thread, artifact })
    const { artifacts } = await readThread(node, thread)
    return { attachment: found, listing: artifacts.find((one) => one.artifact_id === found.facts.artifact_id) }
  })
  if (attachment.facts.type !== 'file_diff')
    throw new CommandError(
      'no_diff',
      `That artifact is a ${attachment.facts.type}, not a diff.`,
      'relay-node show THREAD lists the artifacts with their types.',
    )
  const diff = utf8(attachment.bytes)
  if (diff === undefined)
    throw new CommandError('no_diff', 'That diff is not text.', 'Ask its author to send it again.')
  const folder = options.repo ?? process.cwd()
  const copy = await openWorkingCopy(folder)
  if (typeof copy === 'string')
    throw new CommandError('no_repository', `${folder} is no git working copy (${copy}).`, 'Name one with --repo DIR.')
  const findings = await check(copy, diff, labelsOf(listing)).finally(() => copy.close())
  printer.result(
    { thread_id: attachment.facts.thread_id, artifact_id: attachment.facts.artifact_id, ...findings },
    () => print(printer, findings, attachment.foreign),
  )
  return findings.applies ? EXIT.done : EXIT.refused
}

function labelsOf(listing: ArtifactListing | undefined): Record<string, string> {
  return listing ? openContent(listing.content).value : {}
}

async function check(copy: WorkingCopy, diff: string, labels: Record<string, string>): Promise<Findings> {
  const checked = await copy.git(['apply', '--check', '-'], diff)
  const applies = checked.code === 0
  const paths = await touchedPaths(copy, diff)
  const base = await lookAtBase(copy, labels['base_commit'])
  const changed = base.state === 'known' ? await changedSince(copy, base.commit ?? '') : undefined
  const uncommitted = await changedHere(copy, paths)
  return {
    applies,
    repo: await compareRepository(copy, labels['repo']),
    base,
    untrusted: {
      files: paths.map((path) => ({
        path,
        ...(changed ? { changed_since_base: changed.has(path) } : {}),
        uncommitted: uncommitted.has(path),
      })),
      failed_hunks: applies ? [] : await failedHunks(copy, diff, paths),
      problems: applies ? [] : problemsIn(checked.stderr),
    },
  }
}

async function compareRepository(copy: WorkingCopy, repo: string | undefined): Promise<Findings['repo']> {
  if (repo === undefined || !OBJECT_ID.test(repo)) return 'unknown'
  if (await hasCommit(copy, repo)) return 'same'
  // The beginning of the history is what a shallow clone lacks.
  return copy.isShallow ? 'unknown' : 'another'
}

async function hasCommit(copy: WorkingCopy, id: string): Promise<boolean> {
  return (await copy.git(['cat-file', '-e', `${id}^{commit}`])).code === 0
}

async function lookAtBase(copy: WorkingCopy, commit: string | undefined): Promise<Findings['base']> {
  if (commit === undefined) return { state: 'not given' }
  if (!OBJECT_ID.test(commit)) return { state: 'unknown' }
  if (copy.head === undefined || !(await hasCommit(copy, commit))) return { state: 'unknown', commit }
  const [since, apart] = [await countCommits(copy, commit, copy.head), await countCommits(copy, copy.head, commit)]
  return { state: 'known', commit, commits_since: since, commits_apart: apart }
}

/** Commits in the history of `to` that are not in that of `from`. */
async function countCommits(copy: WorkingCopy, from: string, to: string): Promise<number> {
  return Number((await copy.git(['rev-list', '--count', `${from}..${to}`])).stdout)
}

async function changedSince(copy: WorkingCopy, commit: string): Promise<ReadonlySet<string>> {
  const args = ['diff-tree', '-r', '-z', '--name-only', '--no-ext-diff', '--no-textconv', '--no-renames']
  return namesIn(await copy.git([...args, commit, copy.head ?? commit]))
}

/** Of the given files those that are not as they were committed. */
async function changedHere(copy: WorkingCopy, paths: readonly string[]): Promise<ReadonlySet<string>> {
  if (copy.head === undefined || paths.length === 0) return new Set()
  await copy.useIndex(copy.head, paths)
  await copy.git(['update-index', '-q', '--refresh'])
  return namesIn(await copy.git(['diff-files', '-z', '--name-only', '--no-ext-diff', '--ignore-submodules=all']))
}

function namesIn({ stdout }: { stdout: string }): ReadonlySet<string> {
  return new Set(stdout.split('\0').filter((name) => name !== ''))
}

/**
 * With --check this writes nothing, and goes on after the first hunk that does not fit. Lines of the diff stand among
 * what git says, so that only what is a hunk of the diff is believed.
 */
async function failedHunks(copy: WorkingCopy, diff: string, paths: readonly string[]) {
  const { stderr } = await copy.git(['apply', '--check', '--reject', '-'], diff)
  const begins = new Set([...diff.matchAll(/^@@ -(\d+)/gm)].map(([, line]) => Number(line)))
  const failed = new Map<string, { path: string; line: number }>()
  for (const [, path = '', line = ''] of stderr.matchAll(/^error: patch failed: (.+):(\d+)$/gm))
    if (paths.includes(path) && begins.has(Number(line))) failed.set(`${path}:${line}`, { path, line: Number(line) })
  return [...failed.values()]
}

function problemsIn(stderr: string): string[] {
  const lines = stderr.split('\n').filter((line) => line !== '')
  return lines
    .map((line) => line.replace(/^(?:error|fatal|warning): /, ''))
    .filter((line) => !line.startsWith('patch failed: '))
}

function print(printer: Printer, { applies, repo, base, untrusted }: Findings, foreign: boolean): void {
  if (applies) printer.done('It fits: git apply would apply it here. Nothing was changed.')
  else printer.warn('It does not fit here. Nothing was changed.')
  printer.line(REPOSITORY[repo])
  printer.line(baseText(base))
  const say = (texts: readonly string[]) => {
    for (const text of texts.slice(0, SHOWN_COUNT_MAX)) printContent(printer, text, foreign)
    if (texts.length > SHOWN_COUNT_MAX) printer.line(`  and ${texts.length - SHOWN_COUNT_MAX} more`)
  }
  const { files, failed_hunks: hunks, problems } = untrusted
  const moved = files.filter((file) => file.changed_since_base === true || file.uncommitted)
  printer.line(`It changes ${count(files.length, 'file')}${moved.length > 0 ? '; of these have changed here:' : '.'}`)
  say(moved.map(({ path, uncommitted }) => `${path}${uncommitted ? ' (not committed)' : ''}`))
  if (hunks.length > 0) printer.line('Hunks that do not fit, by file and line before the change:')
  say(hunks.map(({ path, line }) => `${path}:${line}`))
  if (problems.length > 0) printer.line('What git says:')
  say(problems)
}

const REPOSITORY: Record<Findings['repo'], string> = {
  same: 'It was made in this repository.',
  another: 'It was made in another repository.',
  unknown: 'Whether it was made in this repository is not known.',
}

function baseText({
  state,
  commit = '',
  commits_since: since = 0,
  commits_apart: apart = 0,
}: Findings['base']): string {
  if (state === 'not given') return 'It does not say which commit it was made on.'
  if (state === 'unknown') return 'The commit that it was made on is not here.'
  const other = apart > 0 ? `, and ${count(apart, 'commit')} of its history not in yours` : ''
  return `It was made on ${commit.slice(0, 12)}; ${since === 0 ? 'no commits' : count(since, 'commit')} since${other}.`
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`
}
