/** What a diff was made on: the repository and the newest commit here to whose files it applies. */
import { CommandError } from './failure.ts'
import { openWorkingCopy, type WorkingCopy } from './git.ts'

/** Commits that are tried, from the one that is checked out on, each the first parent of the one before. */
const COMMITS_COUNT_MAX = 32

export interface DiffBase {
  /** Id of the repository's first commit; absent where this clone does not have it. */
  repo?: string
  base_commit: string
}

/** undefined: not in a working copy, or the diff fits none of its newest commits. */
export async function findBase(diff: string, folder: string): Promise<DiffBase | undefined> {
  let copy: WorkingCopy | string
  try {
    copy = await openWorkingCopy(folder)
  } catch (error) {
    // A diff can be sent without git.
    if (error instanceof CommandError) return undefined
    throw error
  }
  if (typeof copy === 'string') return undefined
  try {
    return await baseIn(copy, diff)
  } finally {
    copy.close()
  }
}

async function baseIn(copy: WorkingCopy, diff: string): Promise<DiffBase | undefined> {
  const paths = copy.head === undefined ? [] : await touchedPaths(copy, diff)
  if (copy.head === undefined || paths.length === 0) return undefined
  const { stdout } = await copy.git(['rev-list', '--first-parent', `--max-count=${COMMITS_COUNT_MAX}`, copy.head])
  for (const commit of stdout.split('\n').filter((line) => line !== '')) {
    await copy.useIndex(commit, paths)
    if ((await copy.git(['apply', '--cached', '--check', '-'], diff)).code !== 0) continue
    const repo = await firstCommit(copy, commit)
    return { ...(repo === undefined ? {} : { repo }), base_commit: commit }
  }
  return undefined
}

async function firstCommit(copy: WorkingCopy, commit: string): Promise<string | undefined> {
  if (copy.isShallow) return undefined
  const { stdout } = await copy.git(['rev-list', '--first-parent', '--max-parents=0', commit])
  const [first = ''] = stdout.split('\n')
  return first === '' ? undefined : first
}

/** The files that a diff changes, by their old and new names; none where it is no diff. */
export async function touchedPaths(copy: WorkingCopy, diff: string): Promise<string[]> {
  const parsed = await copy.git(['apply', '--numstat', '-z', '-'], diff)
  if (parsed.code !== 0) return []
  const named = parsed.stdout.split('\0').flatMap((line) => /^(?:\d+|-)\t(?:\d+|-)\t(.+)$/s.exec(line)?.[1] ?? [])
  // Only the new name of what is renamed or copied stands there.
  const old = [...diff.matchAll(/^(?:rename|copy) from (.+)$/gm)].map(([, path = '']) => path)
  return [...new Set([...named, ...old])]
}
