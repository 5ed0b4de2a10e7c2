import { codeOnly, withoutComments, type SourceFile } from './source.ts'

/** Looks at one file and says what breaks the rule, one line a fault. */
export type Rule = (file: SourceFile) => string[]

/** Past about this length a file holds a second concept, which nobody finds by the file's name. */
const LINES_MAX = 400

export const shortEnough: Rule = ({ path, text }) => {
  const count = text.trimEnd().split('\n').length
  return count <= LINES_MAX ? [] : [`${path} has ${count} lines: look for the second concept in it`]
}

/** One spelling for every name, on file systems that tell case apart and on those that do not. */
export const kebabCase: Rule = ({ path }) => {
  const odd = path.split('/').filter((part) => !/^\.?[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+)*$/.test(part))
  return odd.map((part) => `${path}: ${part} is not kebab-case`)
}

/** Such a room says nothing about what is in it, and so takes everything. */
export const tellingRoom: Rule = ({ path }) => {
  const vague = path.split('/').filter((part) => /^(utils?|helpers?|common|shared|misc|lib)(\.|$)/.test(part))
  return vague.map((part) => `${path}: ${part} says nothing`)
}

/** A named export has one name everywhere it is used. A tool's configuration has to be a default export. */
export const namedExports: Rule = ({ path, text }) =>
  path === 'test/vitest.config.ts'
    ? []
    : found(path, codeOnly(text), [[/^\s*export\s+default\b|\bdefault\s*}/m, 'default export']])

/** Who switches a check off for one line has not answered it. */
export const checksStayOn: Rule = ({ path, text }) => [
  ...found(path, text, [
    [/\b(?:eslint|oxlint|biome|knip)-(?:disable|ignore)/, 'switches the linter off'],
    [/@ts-(?:ignore|nocheck)/, 'switches the type check off'],
    [/\b(?:prettier|oxfmt)-ignore/, 'switches the formatter off'],
  ]),
  // In a test it is the assertion that something does not compile, and fails where it does.
  ...(path.startsWith('test/') ? [] : found(path, text, [[/@ts-expect-error/, 'switches the type check off']])),
  ...found(path, codeOnly(text), [[/(?:[:<|&(,]|\bas|=>|=)\s*any\b\s*(?:[;,)>|&\]={]|\[\]|$)/m, 'the type any']]),
]

/** A test runs, or says why it cannot run here, by `skip('reason')` of its context. */
export const testsRun: Rule = ({ path, text }) =>
  found(path, codeOnly(text), [
    [
      /\b(?:test|it|describe|suite)(?:\.\w+)*\.(?:only|skip|todo|fails|skipIf|runIf)\b/,
      'a test that is switched off or alone',
    ],
    [/\b(?:xit|xtest|xdescribe|fit|fdescribe)\(/, 'a test that is switched off or alone'],
    [/\bskip\(\s*\)/, 'a skip without its reason'],
  ])

/** The repository stands on its own: no machine, no registry, no promise, no history is named in it. */
export const standsAlone: Rule = ({ path, text }) =>
  found(path, text, [
    [/(?<![\w.])\/(?:work|root|Users|home\/(?:user|ubuntu|runner))\//, 'a path of one machine'],
    [/\b(?:registry\.[\w-]+\.\w+|npmjs\.(?:org|com)|yarnpkg|artifactory|verdaccio|nexus\.)/i, 'a registry host'],
    [/\b(?:TODO|FIXME|XXX|HACK)\b/, 'a promise instead of the work'],
    [/\bissues? #?\d|\b(?:fix(?:es)?|close[sd]?|see|refs?|pull|pr) #\d/i, 'a number from a tracker'],
    [/\.\.\/shared\b/, 'a folder outside of the repository'],
  ])

/** The rules are a function of their input: any peer, at any time, comes to the same verdict. */
export const pure: Rule = ({ path, text }) => {
  if (!path.startsWith('protocol/')) return []
  const impure = [
    /\bDate\b/,
    /\bperformance\b/,
    /\bset(?:Timeout|Interval|Immediate)\b/,
    /\bMath\.random\b|\bgetRandomValues\b|\brandomUUID\b/,
    /\b(?:process|console|fetch|globalThis)\b/,
  ]
  return found(
    path,
    codeOnly(text),
    impure.map((pattern) => [pattern, `${pattern.source} in a rule`]),
  )
}

/** Randomness is an argument there too: crypto.ts is handed its bytes. */
export const noDice: Rule = ({ path, text }) =>
  path.startsWith('protocol/')
    ? found(path, withoutComments(text), [[/\brandomBytes\b|\brandomInt\b/, 'dice in a rule']])
    : []

function found(path: string, text: string, patterns: readonly (readonly [RegExp, string])[]): string[] {
  return patterns.flatMap(([pattern, what]) => {
    const match = pattern.exec(text)
    return match ? [`${path}: ${what} (${match[0].trim()})`] : []
  })
}

/** Versions of dependencies that are not exact: a clone of today has to be the clone of tomorrow. */
export function loosePins(manifest: {
  dependencies?: Record<string, string>
  devDependencies?: Record<string, string>
}): string[] {
  const all = { ...manifest.dependencies, ...manifest.devDependencies }
  return Object.entries(all)
    .filter(([, version]) => !/^(\d+\.\d+\.\d+(-[\w.]+)?|file:\.\/.+)$/.test(version))
    .map(([name, version]) => `${name} ${version}`)
}

/** A lockfile that names hosts fetches from them, whatever registry the machine has. A folder of ours is none. */
export function lockedHosts(lockfile: string): string[] {
  return [...lockfile.matchAll(/"resolved":\s*"([^"]+:[^"]+)"/g)].map(([, host = '']) => host)
}

interface Locked {
  packages: Record<string, { dependencies?: Record<string, string>; optionalDependencies?: Record<string, string> }>
}

/** Dependencies, optional ones too, that the lockfile has no entry for: with such a gap `npm ci` installs nothing at all. */
export function lockGaps({ packages }: Locked): string[] {
  return Object.entries(packages).flatMap(([path, { dependencies, optionalDependencies }]) =>
    Object.keys({ ...dependencies, ...optionalDependencies })
      .filter((name) => !foldersAbove(path).some((folder) => `${folder}node_modules/${name}` in packages))
      .map((name) => `${path} -> ${name}`),
  )
}

/** Where Node looks for what the package at `path` imports: its own folder, then those around it. */
function foldersAbove(path: string): string[] {
  if (path === '') return ['']
  const outer = path.slice(0, path.lastIndexOf('node_modules/')).replace(/\/$/, '')
  return [`${path}/`, ...foldersAbove(outer)]
}

const TOP_LEVEL = ['README.md', 'examples', 'package.json', 'protocol', 'src', 'test', 'tsconfig.json']
const BESIDE = new Set(['LICENSE', 'package-lock.json', 'node_modules', 'dist'])

/** What the top level has too much (+) and too little (-). A newcomer sees seven names. */
export function topLevelFaults(names: readonly string[]): string[] {
  const seen = names.filter((name) => !name.startsWith('.') && !BESIDE.has(name))
  return [
    ...seen.filter((name) => !TOP_LEVEL.includes(name)).map((name) => `+ ${name}`),
    ...TOP_LEVEL.filter((name) => !seen.includes(name)).map((name) => `- ${name}`),
  ]
}
