/** The work that is handed on: a brief, sources, a diff, evidence and a record that says where things stand. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { type Change, createRepository, type Repository } from '../stage/repository.ts'

const LIMITER = `import time


class Limiter:
    """At most \`rate\` calls a second for each key, with bursts of \`burst\`."""

    def __init__(self, rate, burst, clock=time.monotonic):
        self.rate, self.burst, self.clock = rate, burst, clock
        self.buckets = {}

    def allow(self, key):
        now = self.clock()
        tokens, then = self.buckets.get(key, (self.burst, now))
        tokens = min(self.burst, tokens + (now - then) * self.rate)
        self.buckets[key] = (tokens - 1 if tokens >= 1 else tokens, now)
        return tokens >= 1
`

/** The file that the change is made to, before and after. */
const APP = 'src/api/app.py'
const APP_BEFORE = `from api.users import list_users

routes = {"/users": list_users}
`
const APP_AFTER = `from api.users import list_users
from api.limiter import Limiter

limiter = Limiter(rate=5, burst=20)

routes = {"/users": list_users}
`

/** Bob's working copy, Frank's clone of it from before the change, and the change as git shows it. */
export function makeChange(folder: string): { change: Change; franks: Repository } {
  const bobs = createRepository(join(folder, 'bobs-api'), { [APP]: APP_BEFORE })
  const franks = bobs.clone(join(folder, 'franks-api'))
  return { change: bobs.change(APP, APP_AFTER), franks }
}

const BRIEF = `# Rate limit for the public API

Buckets live in memory for now, one process each. Anonymous callers share one bucket by address.
Do not touch the billing routes: their limits are in a contract.
`

const TRACE_SIZE_BYTES = 400 * 1024

/** A trace of a load test: more than one entry holds, and no text. */
function trace(): Buffer {
  const bytes = Buffer.alloc(TRACE_SIZE_BYTES)
  for (let i = 0; i < bytes.length; i++) bytes[i] = (i * 31 + (i >> 8) * 17) & 255
  return bytes
}

export const sha256 = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** What each artifact holds, byte for byte, by its name. */
export const contentsOf = (change: Change): ReadonlyMap<string, Buffer> =>
  new Map([
    ['BRIEF.md', Buffer.from(BRIEF)],
    ['limiter.py', Buffer.from(LIMITER)],
    [change.path, Buffer.from(change.diff)],
    ['load-test.trace', trace()],
    ['pytest tests/limiter', Buffer.from('pytest tests/limiter')],
  ])

export const artifactsOf = (change: Change): object[] => [
  { type: 'file', name: 'BRIEF.md', media_type: 'text/markdown', text: BRIEF },
  { type: 'file', name: 'limiter.py', media_type: 'text/x-python', text: LIMITER },
  { type: 'file_diff', ...change },
  { type: 'file', name: 'load-test.trace', media_type: 'application/octet-stream', base64: trace().toString('base64') },
  { type: 'test_command', command: 'pytest tests/limiter' },
]

export const SUMMARY =
  'Rate limiting for the public API works in one process. What is left: share the buckets between processes, without touching the billing routes.'

export const RECORD = {
  objective: {
    summary: 'Limit each caller of the public API to 5 requests a second, with bursts of 20',
    acceptance_criteria: ['429 with Retry-After beyond the limit', 'the same limit whichever process answers'],
  },
  current_state: {
    complete: ['Limiter with a token bucket a key, in memory'],
    in_progress: ['app.py creates the limiter and does not ask it yet'],
    blocked: [],
    unverified: ['behaviour when the clock of the host jumps'],
  },
  decisions: [
    {
      summary: 'Token bucket, not a sliding window',
      rationale: 'two numbers a key instead of a list of times',
      status: 'accepted',
    },
  ],
  evidence: [
    {
      label: 'load test',
      claim: '5.0 requests a second pass for each key over ten minutes',
      artifact: 'load-test.trace',
      sha256: sha256(trace()),
    },
  ],
  constraints: [{ kind: 'exclusion', text: 'The billing routes stay as they are' }],
  next_action: {
    summary: 'Move the buckets from memory into Redis behind the same Limiter interface',
    verification: 'pytest tests/limiter',
  },
  ownership: { next_actor: 'frank', reviewers: ['bob'] },
  open_questions: ['What shall happen while Redis cannot be reached?'],
}
