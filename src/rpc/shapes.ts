/** The shapes that inputs of both front ends are made of: text, artifacts, the record, a proposed action. */
import * as z from 'zod'
import {
  type ContinuityRecord,
  CONSTRAINT_KINDS,
  DECISION_STATUSES,
  INTENTS,
  MEMBER_KINDS,
  OUTCOMES,
  type ProposedAction,
  ROLES,
} from '../../protocol/index.ts'
import type { ArtifactInput } from '../node/api.ts'

/** A payload nested deeper than this is refused: writing it as JSON again would exhaust the stack. */
const PAYLOAD_DEPTH_MAX = 64
const ID_LENGTH_CHARS_MAX = 200
const CURSOR_LENGTH_CHARS_MAX = 2000

const LONE_SURROGATE = 'must be well-formed Unicode text; it holds half of a surrogate pair'

/** Text that has one encoding as UTF-8. A lone surrogate has none, so two peers would sign different bytes. */
export const text = z.string().refine((value) => value.isWellFormed(), LONE_SURROGATE)
/** Text with something to read in it. */
export const filledText = text.refine((value) => value.trim() !== '', 'must not be empty')
/** A name that this node looks up: a thread, an artifact, a handle. */
export const id = filledText.max(ID_LENGTH_CHARS_MAX)
export const cursor = filledText.max(CURSOR_LENGTH_CHARS_MAX)

export const intent = z.enum(INTENTS)
export const outcome = z.enum(OUTCOMES)
export const status = z.enum(['pending', 'accepted', 'completed', 'cancelled'])
export const side = z.enum(['in', 'out', 'reader'])
export const role = z.enum(ROLES)
export const memberKind = z.enum(MEMBER_KINDS)
export const scope = z.enum(['read', 'write'])
export const annotations = z.enum(['open', 'all'])

const base64 = z
  .string()
  .refine(
    (value) => value.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(value),
    'must be base64 with padding (RFC 4648, section 4)',
  )

const fileFields = { type: z.literal('file'), name: filledText, media_type: filledText }

/** One typed attachment. */
const artifact = z.discriminatedUnion(
  'type',
  [
    z
      .strictObject({
        type: z.literal('file_diff'),
        path: filledText.describe('Path from the root of the repository'),
        diff: text.describe('Unified diff, as `git diff` prints it'),
        repo: text
          .describe('Id of the first commit of the repository, as `git rev-list --max-parents=0 HEAD`')
          .optional(),
        base_commit: text.describe('Full id of the commit that it applies to').optional(),
      })
      .describe('A change to a file'),
    z
      .strictObject({
        type: z.literal('file_ref'),
        path: filledText,
        git_sha: text.optional(),
        lines: text.describe('Like 10-42').optional(),
      })
      .describe('A place in the repository that the other side can read for itself'),
    z
      .strictObject({ type: z.literal('test_command'), command: filledText, cwd: text.optional() })
      .describe('How to check the work. Nobody runs it unasked'),
    z
      .strictObject({ type: z.literal('api_contract'), schema_url: text.optional(), inline: text.optional() })
      .refine((value) => value.schema_url !== undefined || value.inline !== undefined, 'needs schema_url or inline')
      .describe('A contract: its address or its text'),
    z.strictObject({ type: z.literal('link'), url: filledText, title: text.optional() }),
    z
      .strictObject({ ...fileFields, text: text.optional(), base64: base64.optional() })
      .refine((value) => (value.text === undefined) !== (value.base64 === undefined), 'needs either text or base64')
      .describe('A file: give text, or base64 for bytes'),
  ],
  { error: 'must be one of file_diff, file_ref, test_command, api_contract, link, file' },
) satisfies z.ZodType<ArtifactInput>

/** How many there may be is told by {@link ./refusals.ts}: too many is a size, not a shape. */
export const artifacts = z.array(artifact)

export const proposedAction = z.strictObject({
  description: filledText.describe('What shall be done, in one sentence that a person can say yes or no to'),
  target_files: z.array(filledText),
  rationale: filledText,
  suggested_diff: text.optional(),
  base_commit: text.optional(),
}) satisfies z.ZodType<ProposedAction>

export const record = z
  .strictObject({
    objective: z.strictObject({ summary: text, acceptance_criteria: z.array(text) }),
    current_state: z.strictObject({
      complete: z.array(text),
      in_progress: z.array(text),
      blocked: z.array(text),
      unverified: z.array(text),
    }),
    decisions: z.array(z.strictObject({ summary: text, rationale: text, status: z.enum(DECISION_STATUSES) })),
    evidence: z.array(
      z.strictObject({
        label: text,
        claim: text,
        uri: text.optional(),
        artifact: text.optional(),
        sha256: text.optional(),
      }),
    ),
    constraints: z.array(z.strictObject({ kind: z.enum(CONSTRAINT_KINDS), text })),
    next_action: z.strictObject({ summary: text, verification: text, due: text.optional() }),
    ownership: z.strictObject({ next_actor: text, reviewers: z.array(text) }),
    open_questions: z.array(text),
  })
  .describe('What another person or agent needs to resume the work') satisfies z.ZodType<ContinuityRecord>

/** The fields of a record that a revision replaces; each is given whole. */
export const recordChanges = record
  .partial()
  .describe('Only the fields that change, each given whole; the others stay as they are')

/** The current revision, or all heads of a forked record. */
export const expectedRevisions = z.union([id, z.array(id).min(1).max(16)])
export const annotationIds = z.array(id).max(32)
/** A quotation (W3C Web Annotation, TextQuoteSelector). */
export const selector = z.strictObject({
  exact: filledText.describe('The words as they stand there'),
  prefix: text.describe('What stands right before them, where they occur more than once').optional(),
  suffix: text.describe('What stands right after them').optional(),
})

/** Any JSON value that can be written again as it was read. */
export const payload = z.unknown().superRefine((value, context) => {
  const problem = jsonProblem(value)
  if (problem !== undefined) context.addIssue({ code: 'custom', message: problem })
})

function jsonProblem(root: unknown): string | undefined {
  const waiting: { value: unknown; depth: number }[] = [{ value: root, depth: 0 }]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { value, depth } = next
    if (typeof value === 'string' && !value.isWellFormed()) return LONE_SURROGATE
    if (typeof value !== 'object' || value === null) continue
    if (depth === PAYLOAD_DEPTH_MAX) return `must not be nested deeper than ${PAYLOAD_DEPTH_MAX} levels`
    for (const [key, inner] of Object.entries(value)) {
      if (!key.isWellFormed()) return LONE_SURROGATE
      waiting.push({ value: inner, depth: depth + 1 })
    }
  }
  return undefined
}
