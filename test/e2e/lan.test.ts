import { expect, test } from 'vitest'
import { laptop } from '../cli/laptop.ts'
import { whyNoMulticast } from '../net/libp2p-world.ts'
import { agree, done } from './team.ts'

test('a short code, as twelve words, finds the inviter on the same network', async ({ skip }) => {
  const trouble = await whyNoMulticast()
  if (trouble !== undefined) skip(trouble)
  await using bob = laptop()
  await using frank = laptop()
  await done(bob, 'init --yes --name bob --team acme --device bobs-mbp')
  const invite = await done(bob, 'invite frank')
  expect(String(invite['code'])).toMatch(/^relay1[a-z0-9]{32}$/)
  const words = invite['words'] as string[]
  expect(words).toHaveLength(12)
  const joined = await done(frank, 'join --code-stdin --device frank-xps', words.join(' '))
  expect(joined).toMatchObject({ handle: 'frank@acme', inviter: 'bob@acme', trust: 'unverified' })
  const sent = await done(bob, 'send frank --summary hello')
  const [, ofFrank] = await agree({ bob, frank, [Symbol.asyncDispose]: async () => {} }, String(sent['thread_id']))
  expect(ofFrank.status).toBe('pending')
})
