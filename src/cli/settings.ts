/**
 * The settings of a node: one TOML file, since a background process does not see a shell's environment.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { parse, stringify, TomlError } from 'smol-toml'
import * as z from 'zod'
import { CARRIED_SIZE_BYTES_MAX, NAME, NAME_LENGTH_CHARS_MAX } from '../../protocol/index.ts'
import { type Home, homeError, HomeError } from '../home.ts'
import type { Scope } from '../node/api.ts'

/** Names of members, teams and devices. */
export const NAME_RULE = `a-z, 0-9 and -, at most ${NAME_LENGTH_CHARS_MAX} characters, not - at its beginning`

export function isName(text: string): boolean {
  return NAME.test(text)
}

export const SCOPES = ['read', 'write'] as const satisfies readonly Scope[]
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const

const settingsShape = z.strictObject({
  device: z.optional(z.string().refine(isName, `must be a name: ${NAME_RULE}`)),
  listen: z.optional(z.array(z.string().startsWith('/', 'must be a list of addresses like "/ip4/0.0.0.0/tcp/4300"'))),
  lan: z.optional(z.boolean('must be true or false')),
  bootstrap: z.optional(z.array(z.string().startsWith('/', 'must be a list of addresses that begin with /'))),
  upnp: z.optional(z.boolean('must be true or false')),
  carry: z.optional(z.boolean('must be true or false')),
  carry_bytes: z.optional(z.int('must be a whole number of bytes').min(0, 'must be a whole number of bytes')),
  mailbox: z.optional(z.boolean('must be true or false')),
  scope: z.optional(z.enum(SCOPES, `must be one of ${SCOPES.join(', ')}`)),
  log_level: z.optional(z.enum(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(', ')}`)),
})
type Written = z.infer<typeof settingsShape>

export interface Settings {
  /** Name of this laptop in the team. */
  device: string
  /** Multiaddrs to listen on. */
  listen: string[]
  /** Find teammates on the same network (mDNS). */
  lan: boolean
  /** Multiaddrs of bootstrap servers. */
  bootstrap: string[]
  /** Ask the router for a port that leads to this laptop. */
  upnp: boolean
  /** Keep sealed handoffs between teammates for those who are away. */
  carry: boolean
  /** How much of them, bytes. */
  carry_bytes: number
  /** Leave sealed handoffs at the bootstrap servers for teammates who are away, and fetch one's own there. */
  mailbox: boolean
  /** read: this node writes for nobody on this laptop. */
  scope: Scope
  log_level: (typeof LOG_LEVELS)[number]
}
export type SettingKey = keyof Settings
export type SettingSource = 'settings file' | 'default'

export const SETTING_KEYS = Object.keys(settingsShape.shape) as readonly SettingKey[]

function defaults(): Settings {
  return {
    device: hostDeviceName(),
    listen: ['/ip4/0.0.0.0/tcp/0'],
    lan: true,
    bootstrap: [],
    upnp: false,
    carry: true,
    carry_bytes: CARRIED_SIZE_BYTES_MAX,
    mailbox: false,
    scope: 'write',
    log_level: 'info',
  }
}

export function isScope(text: string): text is Scope {
  return SCOPES.some((scope) => scope === text)
}

/** The name of this machine as a device name. */
export function hostDeviceName(host: string = hostname()): string {
  const name = (host.split('.')[0] ?? '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, NAME_LENGTH_CHARS_MAX)
    .replaceAll(/^-+|-+$/g, '')
  return name === '' ? 'laptop' : name
}

/** Every setting and where it comes from. Throws HomeError that names the file and the key. */
export function readSettings(home: Home): { settings: Settings; source: Record<SettingKey, SettingSource> } {
  const written = parseSettings(home, readText(home))
  const settings = defaults()
  const source = Object.fromEntries(SETTING_KEYS.map((key) => [key, 'default'])) as Record<SettingKey, SettingSource>
  for (const key of SETTING_KEYS) {
    if (written[key] === undefined) continue
    Object.assign(settings, { [key]: written[key] })
    source[key] = 'settings file'
  }
  return { settings, source }
}

/** Adds what the file does not say yet. A line that a person wrote is never changed or lost. */
export function addSettings(home: Home, additions: Partial<Settings>): void {
  const text = readText(home)
  const written = parseSettings(home, text)
  const missing = Object.fromEntries(
    Object.entries(additions).filter(([key, value]) => value !== undefined && !(key in written)),
  )
  if (Object.keys(missing).length === 0) return
  const head = text === '' ? '# Settings of relay-node. They are read when the node starts.\n' : text
  try {
    writeFileSync(home.config, `${head}${head.endsWith('\n') ? '' : '\n'}${stringify(missing)}`, { mode: 0o600 })
  } catch (error) {
    throw homeError(error, home.config)
  }
}

function readText(home: Home): string {
  try {
    return readFileSync(home.config, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return ''
    throw homeError(error, home.config)
  }
}

function parseSettings(home: Home, text: string): Written {
  let table: unknown
  try {
    table = parse(text)
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    throw mistake(home, `line ${error.line} is not TOML: ${firstLine(error.message)}`, error)
  }
  const parsed = settingsShape.safeParse(table)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  const said =
    issue?.code === 'unrecognized_keys'
      ? `unknown setting "${issue.keys[0]}"`
      : `"${String(issue?.path[0])}" ${messageOf(issue)}`
  throw mistake(home, said, parsed.error)
}

function messageOf(issue: z.core.$ZodIssue | undefined): string {
  if (issue?.code === 'invalid_type' && (issue.expected === 'array' || issue.expected === 'string'))
    return `must be a ${issue.expected === 'array' ? 'list' : issue.expected}`
  return issue?.message ?? 'is not right'
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? text
}

function mistake(home: Home, said: string, cause: unknown): HomeError {
  return new HomeError('HOME_SETTINGS', `${home.config}: ${said}.`, {
    hint: `Correct that line. The settings are: ${SETTING_KEYS.join(', ')}.`,
    cause,
  })
}
