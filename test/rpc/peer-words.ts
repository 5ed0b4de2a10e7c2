/** Everything that a teammate can write, with the same words in every field. */
import { API_ERRORS, ApiError, type ApiSymbol } from '../../src/node/api-error.ts'
import { untrusted } from '../../src/node/api.ts'

/** One error of each symbol, with a teammate's words in the place that is meant for them. */
export function everyError(peerText: string): ApiError[] {
  return (Object.keys(API_ERRORS) as ApiSymbol[]).map(
    (symbol) =>
      new ApiError(symbol, `it is ${symbol}`, {
        hint: 'Do something else.',
        details: { fact: 1, untrusted: untrusted({ words: peerText, deep: [{ words: peerText }] }) },
      }),
  )
}

export function proposedAction(text: string) {
  return { description: text, target_files: [text], rationale: text, suggested_diff: text, base_commit: text }
}

export function recordOf(text: string) {
  return {
    objective: { summary: text, acceptance_criteria: [text] },
    current_state: { complete: [text], in_progress: [text], blocked: [text], unverified: [text] },
    decisions: [{ summary: text, rationale: text, status: 'accepted' as const }],
    evidence: [{ label: text, claim: text, uri: text }],
    constraints: [{ kind: 'other' as const, text }],
    next_action: { summary: text, verification: text },
    ownership: { next_actor: text, reviewers: [text] },
    open_questions: [text],
  }
}
