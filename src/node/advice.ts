/** What a record lacks to be resumed by somebody else: advice for its author, and never a refusal. */
import { type Artifact, artifactId, type ContinuityRecord, textId } from '../../protocol/index.ts'
import { artifactName } from './artifacts.ts'

/** A next action of fewer words names nothing that one could do. */
const ACTION_WORDS_COUNT_MIN = 3
const VAGUE =
  /^(continue|go on|keep going|finish( it)?|carry on|work on it|do the rest|the rest|see above|tbd|todo|n\/?a|none|same|proceed|next steps?)\b[\s.!]*$/i
/** Lines by two speakers in turn: somebody pasted a conversation. */
const SPEAKER = /^\s*(user|human|assistant|ai|agent|system|claude|codex|gpt|gemini|cursor)\s*:/gim
const TURNS_COUNT_MIN = 3
const STATE_LENGTH_CHARS_MAX = 4000

/** In the order of the record's fields; each names the field, and what would make it better. */
export function adviceOn(record: ContinuityRecord, artifacts: readonly Artifact[]): string[] {
  const { objective, current_state: state, decisions, evidence, next_action: next } = record
  const advice: string[] = []
  if (objective.summary.trim() === '') advice.push('objective.summary is empty: say what this is for, in a sentence.')
  for (const [name, items] of Object.entries(state)) {
    for (const [i, item] of items.entries()) {
      const turns = item.match(SPEAKER)?.length ?? 0
      if (turns >= TURNS_COUNT_MIN || item.length > STATE_LENGTH_CHARS_MAX) {
        advice.push(`current_state.${name}[${i}] reads like a transcript: say what is so now, one thing an item.`)
      }
    }
  }
  for (const [i, { rationale }] of decisions.entries())
    if (rationale.trim() === '') advice.push(`decisions[${i}] has no rationale: say why, so that nobody reopens it.`)
  const names = new Set(
    artifacts.flatMap((artifact) => [artifactName(artifact), textId('artifact', artifactId(artifact))]),
  )
  for (const [i, { claim, uri, artifact }] of evidence.entries()) {
    if (claim.trim() === '') advice.push(`evidence[${i}] claims nothing: say what it shows.`)
    if (!uri?.trim() && !artifact?.trim())
      advice.push(`evidence[${i}] points to nothing: name an artifact of this handoff or a uri.`)
    else if (artifact?.trim() && !names.has(artifact.trim()))
      advice.push(`evidence[${i}].artifact is not among the artifacts of this handoff: attach it, or give a uri.`)
  }
  for (const item of state.complete) {
    if (evidence.length === 0 && item.trim() !== '') {
      advice.push('current_state.complete has claims and evidence is empty: say how one can see that they hold.')
      break
    }
  }
  const action = next.summary.trim()
  if (action === '') advice.push('next_action.summary is empty: say the one thing to do next.')
  else if (VAGUE.test(action) || action.split(/\s+/).length < ACTION_WORDS_COUNT_MIN)
    advice.push('next_action.summary is vague: name what to change, where, and how one knows that it is done.')
  if (action !== '' && next.verification.trim() === '')
    advice.push('next_action.verification is empty: name the command or the look that shows success.')
  return advice
}
