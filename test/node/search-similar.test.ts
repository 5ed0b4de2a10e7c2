/** What `similar` names: summaries of one piece of work, and not two of one sort. */
import { describe, expect, test } from 'vitest'
import { gistOf, nearnessTo } from '../../src/node/search-similar.ts'
import { handOff, pair, trio, SESSION } from './world.ts'

const nearness = (one: string, other: string) => nearnessTo(one)(gistOf(other))

const PAGED = 'Refactored /users. The answer is now paginated: { items, next_cursor }.'
const BILLING = 'Please review the migration of the billing tables to Postgres 16 before Friday.'
const EXPORT = 'The nightly export job fails with a timeout since the upgrade of the queue. Logs are attached.'
const LIMIT = 'Add rate limiting to the public API: 100 requests a minute per key, answer 429 with Retry-After.'
const SMOKE = 'Deploy of release 2.4.1 is blocked: the smoke test of checkout fails on staging.'

const ONE_PIECE_OF_WORK: [string, string][] = [
  [PAGED, 'Refactored /users; the answer is paginated now: {items, nextCursor}'],
  ['Fix the login bug on Safari', 'Fix login bug on Safari'],
  [BILLING, 'review the migration of the billing tables to Postgres 16 before friday'],
  [EXPORT, 'Nightly export job fails with a timeout since the upgrade of the queue, logs attached.'],
  [LIMIT, 'Add rate limiting to the public API (100 requests a minute per key; answers 429 with Retry-After).'],
  [
    'Client needs the new field `due_at` in the invoice payload; see the contract.',
    'The client needs the new field due_at in the invoice payload, see contract',
  ],
  [
    'Rename UserService to AccountService everywhere and update imports',
    'Rename UserService to AccountService everywhere, and update the imports',
  ],
  ['用户列表接口已经改为分页返回', '用户列表接口已改为分页返回'],
  [SMOKE, 'Deploy of release 2.4.1 blocked: smoke test of checkout fails on staging'],
  [
    'Which page size does the mobile client expect for /orders?',
    'What page size does the mobile client expect for /orders?',
  ],
  [
    'Remove the feature flag new_checkout and the dead code behind it.',
    'Remove feature flag new_checkout and dead code behind it',
  ],
  ['Réparer la page de paiement', 'reparer la page de paiement'],
]

const TWO_PIECES_OF_ONE_SORT: [string, string][] = [
  [PAGED, 'Refactored /orders. The answer is now cached: { items, etag }.'],
  ['Fix the login bug on Safari', 'Fix the logout bug on Firefox'],
  ['Please review the users endpoint', 'Please review the orders endpoint'],
  ['Please review my pull request on the parser', 'Please review my pull request on the printer and the cache'],
  [SMOKE, 'Deploy of release 2.5.0 is done: all smoke tests pass on production.'],
  ['Release 1.2', 'Release 1.3'],
  [LIMIT, 'Add caching to the public API: answers of GET are kept a minute per key, with ETag.'],
  [EXPORT, 'The nightly import job is slow since the upgrade of the database. Logs are attached.'],
  ['Write tests for the invoice service', 'Write docs for the invoice service'],
  ['Rotate the keys of the staging cluster', 'Rotate the logs of the production cluster'],
  ['用户列表接口已经改为分页返回', '订单列表接口增加了缓存'],
  [
    'Which page size does the mobile client expect for /orders?',
    'Which time zone does the mobile client expect for /reports?',
  ],
  ['Migrate service auth to Postgres', 'Migrate service mail to Postgres'],
]

describe('summaries', () => {
  test.each(ONE_PIECE_OF_WORK)('of one piece of work are nearly the same: %s', (one, other) => {
    expect(nearness(one, other)).toBeGreaterThan(0.75)
    expect(nearness(other, one)).toBe(nearness(one, other))
  })

  test.each(TWO_PIECES_OF_ONE_SORT)('of two pieces of work are not: %s', (one, other) => {
    expect(nearness(one, other)).toBeUndefined()
  })

  test('of any length make a short gist, which still tells them apart', () => {
    const long = (seed: number): string => Array.from({ length: 5000 }, (_, i) => `word${i * seed}`).join(' ')
    expect(gistOf(long(1)).length).toBeLessThan(700)
    expect(nearness(long(1), `${long(1)} and a few more words`)).toBeGreaterThan(0.9)
    expect(nearness(long(1), long(7))).toBeUndefined()
    expect(gistOf('🙂 !?')).toBe('')
  })
})

test('an open handoff to the same person that says nearly the same is named; one that has ended, or to another, is not', async () => {
  const { bob } = await trio()
  const first = await handOff(bob, 'frank', PAGED)
  expect(first.similar).toEqual([])
  expect((await handOff(bob, 'carol', PAGED)).similar).toEqual([])
  const ended = await handOff(bob, 'frank', PAGED)
  expect(ended.similar).toEqual([first.thread_id])
  await bob.node.cancel({ thread_id: ended.thread_id }, SESSION)
  const again = await handOff(bob, 'frank', 'Refactored /users; the answer is paginated now: {items, nextCursor}')
  expect(again.similar).toEqual([first.thread_id])
  await bob.restart()
  expect((await handOff(bob, 'frank', `${PAGED}!`)).similar).toEqual([first.thread_id, again.thread_id])
})

test('what the other side handed over is not named, though it says the same', async () => {
  const { bob, frank, until } = await pair()
  const { thread_id } = await handOff(frank, 'bob', PAGED)
  await until('it arrives', async () =>
    (await bob.node.listThreads({})).items.some((item) => item.thread_id === thread_id),
  )
  expect((await handOff(bob, 'frank', PAGED)).similar).toEqual([])
})
