/** Two laptops whose nodes found each other by a real invite: bob owns the workspace acme, frank joined it. */
import { type Laptop, laptop, until } from '../cli/laptop.ts'

export interface Team extends AsyncDisposable {
  readonly bob: Laptop
  readonly frank: Laptop
}

/** What `show --json` says that these tests look at. */
export interface Shown {
  status: string
  state_digest: string
  entries: { kind: string }[]
}

/** Runs a command that has to succeed; the JSON that it printed. */
export async function done(machine: Laptop, args: string, input?: string): Promise<Record<string, unknown>> {
  const ran = await machine.run(`${args} --json`, input === undefined ? {} : { input })
  if (ran.code !== 0) throw new Error(`relay-node ${args}: exit ${ran.code}\n${ran.stdout}${ran.stderr}`)
  return ran.json()
}

/** Sets up a team on loopback, both nodes running. */
export async function team(): Promise<Team> {
  const bob = laptop()
  const frank = laptop()
  await done(bob, 'init --yes --name bob --team acme --device bobs-mbp --listen 127.0.0.1:0 --no-lan')
  const { code } = await done(bob, 'invite frank --standalone')
  await done(frank, 'join --code-stdin --device frank-xps --listen 127.0.0.1:0 --no-lan', String(code))
  return {
    bob,
    frank,
    async [Symbol.asyncDispose]() {
      await bob[Symbol.asyncDispose]()
      await frank[Symbol.asyncDispose]()
    },
  }
}

async function show(machine: Laptop, thread: string): Promise<Shown | undefined> {
  const ran = await machine.run(`show ${thread} --json`)
  return ran.code === 0 ? (JSON.parse(ran.stdout) as Shown) : undefined
}

/** Waits until both hold the same entries of a thread. */
export async function agree({ bob, frank }: Team, thread: string): Promise<[Shown, Shown]> {
  let views: [Shown, Shown] | undefined
  await until(async () => {
    const [ofBob, ofFrank] = await Promise.all([show(bob, thread), show(frank, thread)])
    if (ofBob && ofFrank && ofBob.state_digest === ofFrank.state_digest) views = [ofBob, ofFrank]
    return views !== undefined
  })
  if (!views) throw new Error('until() returned before it was so')
  return views
}
