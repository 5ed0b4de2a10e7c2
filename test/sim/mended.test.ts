/** Stories that once ended badly, each with what was wrong then. */
import { expect, test } from 'vitest'
import { type StoryOptions, tell } from './story.ts'

const REMOVALS: StoryOptions = { removals: true }

const MENDED: readonly (readonly [seed: number, wrong: string, options?: StoryOptions])[] = [
  [72, 'a body that came by gossip after its entry was not acknowledged'],
  [61, 'own entries that came back after a loss were owed to nobody'],
  [
    1104,
    'a body of an entry that a third peer had brought was asked of nobody once one’s own words had acknowledged it',
  ],
  [88, 'a body that an old disk had lost was asked of nobody who had it'],
  [3354, 'a recipient that forked across a cancel took its accept back, which is known, and it was called a violation'],
  [6073, 'what came in a delivery that never ended was not acknowledged'],
  [12, 'what had come while a thread recovered was never acknowledged'],
  [105, 'after a loss a new thread of a peer waited ten minutes for the next beacon'],
  [106, 'a reader to whom a liar had given what opens nothing was given the key by nobody', REMOVALS],
  [201, 'after a loss a laptop compared with a reader without end, for a body that neither had', REMOVALS],
]

const STORIES = MENDED.map(([seed, wrong, options = {}]) => [seed, wrong, options] as const)

test.each(STORIES)('seed %i: %s', async (seed, _, options) => {
  const { violation, summary } = await tell(seed, options)
  expect(violation, summary).toBeUndefined()
})
