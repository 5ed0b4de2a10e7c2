/** The table of tools, in the order in which hosts list them. */
import { acceptHandoff } from './accept-handoff.ts'
import { annotateHandoff } from './annotate-handoff.ts'
import { cancelHandoff } from './cancel-handoff.ts'
import { checkInbox } from './check-inbox.ts'
import { completeHandoff } from './complete-handoff.ts'
import { continueHandoff } from './continue-handoff.ts'
import { handoffToTeammate } from './handoff-to-teammate.ts'
import { listTeammates } from './list-teammates.ts'
import { readArtifact } from './read-artifact.ts'
import { resolveAnnotation } from './resolve-annotation.ts'
import { searchHandoffs } from './search-handoffs.ts'
import { sendMessage } from './send-message.ts'
import type { Tool } from './tool.ts'
import { viewThread } from './view-thread.ts'
import { whoami } from './whoami.ts'

export const TOOLS: readonly Tool[] = [
  whoami,
  listTeammates,
  searchHandoffs,
  handoffToTeammate,
  checkInbox,
  viewThread,
  readArtifact,
  acceptHandoff,
  sendMessage,
  continueHandoff,
  annotateHandoff,
  resolveAnnotation,
  completeHandoff,
  cancelHandoff,
]

/** The tools that an agent is offered: all, or those that only read. */
export function toolsFor(readOnly: boolean): readonly Tool[] {
  return readOnly ? TOOLS.filter(({ annotations }) => annotations.readOnlyHint) : TOOLS
}
