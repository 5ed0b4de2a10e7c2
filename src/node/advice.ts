/** What a record lacks to be resumed by somebody else: advice for its author, and never a refusal. */
import {
  type Artifact,
  artifactContent,
  artifactId,
  contentHash,
  type ContinuityRecord,
  type Hex,
  textId,
} from '../../protocol/index.ts'
import { artifactBytes, artifactName } from './artifacts.ts'

/** More than an author reads at once. */
const ADVICE_COUNT_MAX = 16
/** A next action of fewer words names nothing that one could do. */
const ACTION_WORDS_COUNT_MIN = 3
/** Words that say that something is to be done, and not what. */
const VAGUE =
  /^(?:please\s+)?(?:continue|go on|keep|carry on|proceed|resume|finish|complete|do|work on|fix|handle|make|see|take|tbd|todo|n\/?a|none|same|next)\b(?:(?!\b(?:so that|until|by)\b).)*?\b(?:it|this|that|everything|work|working|task|tasks|the rest|remaining|left off|above|steps?|things|stuff|issues?|bugs?|problems?|over|care|going|on|tbd|todo|none|same|n\/?a)\b[\s.!]*$/i
const VAGUE_ALONE =
  /^(?:continue|go on|keep going|finish|carry on|proceed|tbd|todo|n\/?a|none|same|next|done|\?+|-+|\.+)[\s.!]*$/i
/** A path, a name of code, a number, or something quoted: it says what. */
const CONCRETE = /[`"'/\\#]|\w[._]\w|\d|[a-z][A-Z]/
/** Lines by two speakers in turn: somebody pasted a conversation. */
const SPEAKER =
  /^[\s>*_#[(-]*(?:user|human|assistant|ai|agent|system|claude|codex|gpt|chatgpt|gemini|cursor|copilot|you|me)[\s*_\])]*:/gim
const TURNS_COUNT_MIN = 3
const STATE_LENGTH_CHARS_MAX = 4000
const SHA256 = /^[0-9a-f]{64}$/i

/** In the order of the record's fields; each names the field, and what would make it better. */
export function adviceOn(record: ContinuityRecord, artifacts: readonly Artifact[]): string[] {
  const advice = [
    ...objectiveAdvice(record),
    ...stateAdvice(record),
    ...record.decisions.flatMap(({ rationale }, i) =>
      rationale.trim() === '' ? [`decisions[${i}] has no rationale: say why, so that nobody reopens it.`] : [],
    ),
    ...evidenceAdvice(record, artifacts),
    ...actionAdvice(record),
  ]
  const more = advice.length - ADVICE_COUNT_MAX
  return more > 0 ? [...advice.slice(0, ADVICE_COUNT_MAX), `${more} more of the like.`] : advice
}

function objectiveAdvice({ objective: { summary } }: ContinuityRecord): string[] {
  if (summary.trim() === '') return ['objective.summary is empty: say what this is for, in a sentence.']
  return isTranscript(summary)
    ? ['objective.summary reads like a transcript: say what this is for, in a sentence.']
    : []
}

function stateAdvice({ current_state: state, evidence }: ContinuityRecord): string[] {
  const advice = Object.entries(state).flatMap(([name, items]) =>
    items.flatMap((item, i) =>
      isTranscript(item) || item.length > STATE_LENGTH_CHARS_MAX
        ? [`current_state.${name}[${i}] reads like a transcript: say what is so now, one thing an item.`]
        : [],
    ),
  )
  if (evidence.length === 0 && state.complete.some((item) => item.trim() !== ''))
    advice.push('current_state.complete has claims and evidence is empty: say how one can see that they hold.')
  return advice
}

function isTranscript(text: string): boolean {
  return (text.match(SPEAKER)?.length ?? 0) >= TURNS_COUNT_MIN
}

function evidenceAdvice({ evidence }: ContinuityRecord, artifacts: readonly Artifact[]): string[] {
  return evidence.flatMap(({ claim, uri, artifact, sha256 }, i) => {
    const advice: string[] = []
    const named = artifact?.trim() ?? ''
    const hash = sha256?.trim().toLowerCase() ?? ''
    const meant = artifacts.filter(
      (one) => artifactName(one) === named || textId('artifact', artifactId(one)) === named,
    )
    if (claim.trim() === '') advice.push(`evidence[${i}] claims nothing: say what it shows.`)
    if (!uri?.trim() && named === '')
      advice.push(`evidence[${i}] points to nothing: name an artifact of this handoff or a uri.`)
    else if (named !== '' && meant.length === 0)
      advice.push(`evidence[${i}].artifact is not among the artifacts of this handoff: attach it, or give a uri.`)
    if (hash !== '' && !SHA256.test(hash))
      advice.push(`evidence[${i}].sha256 is no SHA-256: it has 64 characters 0-9 a-f.`)
    else if (hash !== '' && meant.length > 0 && meant.every((one) => sha256Of(one) !== hash))
      advice.push(`evidence[${i}].sha256 is not that of the artifact: it has changed since, or another one is meant.`)
    return advice
  })
}

/** As the index of a thread says it. */
function sha256Of(artifact: Artifact): Hex | undefined {
  const bytes = artifactBytes(artifact)
  if (bytes) return contentHash(bytes)
  const content = artifactContent(artifact)
  return content instanceof Uint8Array ? contentHash(content) : content?.sha256
}

function actionAdvice({ next_action: next }: ContinuityRecord): string[] {
  const action = next.summary.trim()
  if (action === '') return ['next_action.summary is empty: say the one thing to do next.']
  const advice: string[] = []
  if (isTranscript(action)) advice.push('next_action.summary reads like a transcript: say the one thing to do next.')
  else if (isVague(action))
    advice.push('next_action.summary is vague: name what to change, where, and how one knows that it is done.')
  if (next.verification.trim() === '')
    advice.push('next_action.verification is empty: name the command or the look that shows success.')
  return advice
}

function isVague(action: string): boolean {
  if (VAGUE_ALONE.test(action)) return true
  const words = [...new Intl.Segmenter(undefined, { granularity: 'word' }).segment(action)]
  if (words.filter(({ isWordLike }) => isWordLike).length < ACTION_WORDS_COUNT_MIN) return true
  return VAGUE.test(action) && !CONCRETE.test(action)
}
