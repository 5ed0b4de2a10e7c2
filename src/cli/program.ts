/** What can be typed: every command with its words and options. What they do is loaded when one is run. */
import { Command as Program } from 'commander'
import type { Command } from './context.ts'

/** Runs a command with what was typed; main.ts makes it. */
export type Runner = <Options>(
  load: () => Promise<Command<Options>>,
  args: readonly string[],
  options: Options & CommonOptions,
) => Promise<void>

export interface CommonOptions {
  json?: boolean
  yes?: boolean
}

export interface ProgramOptions {
  version: string
  runner: Runner
  /** Where help and usage errors go; commander's own words for an error are dropped, since main.ts says them. */
  write: (text: string) => void
}

export function createProgram({ version, runner, write }: ProgramOptions): Program {
  const program = new Program('relay-node')
    .description(
      "Hands work from one developer's coding agent to another's: signed, end-to-end encrypted, without a server.",
    )
    .version(version, '-V, --version')
    .exitOverride()
    .configureOutput({ writeOut: write, writeErr: () => undefined })
    .showSuggestionAfterError()
    .addHelpText('after', EXIT_CODES)

  /** A command with the options that all have. */
  function command(usage: string, description: string, parent = program): Program {
    return parent
      .command(usage)
      .description(description)
      .option('--json', 'one JSON document on stdout, of a failure too')
      .option('--yes', 'ask nothing')
  }

  function runs<Options>(target: Program, load: () => Promise<Command<Options>>): void {
    // What follows a command below another is taken for an option of the upper one, where both have it.
    target.action(() => runner(load, target.args, target.optsWithGlobals<Options & CommonOptions>()))
  }

  runs(
    command('init', 'make a workspace on this laptop, or prepare it to join one')
      .option('--name <name>', 'your name on the team')
      .option('--team <name>', 'name of the new workspace; without it this laptop is ready to join one')
      .option('--device <name>', 'name of this laptop')
      .option('--listen <address>', 'port, host:port or multiaddr; default: a free port, picked once')
      .option('--no-lan', 'do not look for teammates on the same network')
      .option('--bootstrap <address>', 'a bootstrap server to meet at; may be repeated', repeated)
      .option('--no-start', 'do not start the node')
      .option('--service', 'this is a service: join with its invite, for an agent that works unattended')
      .option('--scope <scope>', 'what the service may do: read or write')
      .option('--code-stdin', "read the service's invite code from standard input"),
    async () => (await import('./init.ts')).run,
  )
  addInvite(command, runs)
  runs(
    command('join', 'join a workspace with an invite; the code is asked for')
      .option('--code-stdin', 'read the code from standard input')
      .option('--device <name>', 'name of this laptop')
      .option('--listen <address>', 'port, host:port or multiaddr; default: a free port, picked once')
      .option('--no-lan', 'do not look for teammates on the same network')
      .option('--bootstrap <address>', 'a bootstrap server to find the inviter at; may be repeated', repeated),
    async () => (await import('./join.ts')).run,
  )
  addMember(command, runs)
  addDevice(command, runs)
  addSession(command, runs)
  addNode(command, runs)
  addHandoffs(command, runs)
  return program
}

type MakeCommand = (usage: string, description: string, parent?: Program) => Program
type Runs = <Options>(target: Program, load: () => Promise<Command<Options>>) => void

function addInvite(command: MakeCommand, runs: Runs): void {
  const invite = command('invite [name]', 'invite a person; works once, for 24 hours')
    .option('--expires <time>', 'how long it works, like 10m or 24h')
    .option('--standalone', 'a longer code that holds your addresses, for people on another network')
    .option('--no-wait', 'do not wait for them')
    .option('--role <role>', 'member or reader; a reader reads what is shared with it and writes nothing')
    .option('--service', 'for an agent that works unattended, with a key of its own')
    .option('--scope <scope>', 'what the service may do: read or write')
  runs(invite, async () => (await import('./invite.ts')).run)
  runs(command('list', 'every invite and what became of it', invite), async () => (await import('./invite.ts')).runList)
  runs(command('revoke <id>', 'withdraw an invite', invite), async () => (await import('./invite.ts')).runRevoke)
}

function addMember(command: MakeCommand, runs: Runs): void {
  const member = command('member', 'who is in the workspace, what they may do, and who is to leave it')
  runs(
    command('list', 'every member, and who does not know of a removal yet', member),
    async () => (await import('./member.ts')).runList,
  )
  runs(
    command('remove <name>', 'shut a member out, with all laptops', member),
    async () => (await import('./member.ts')).runRemove,
  )
  runs(
    command('role <name> <role>', 'make a teammate a member or a reader; the owner alone can', member),
    async () => (await import('./member-role.ts')).run,
  )
}

function addDevice(command: MakeCommand, runs: Runs): void {
  const device = command('device', "members' laptops, and which of them is to be shut out")
  runs(command('list', 'every laptop of every member', device), async () => (await import('./device.ts')).runList)
  runs(
    command('revoke <name/device>', 'shut one laptop out, such as one that was lost', device),
    async () => (await import('./device.ts')).runRevoke,
  )
  const quarantine = command('quarantine', 'handoffs that came from a laptop which had been removed')
  runs(command('list', 'those that are kept apart', quarantine), async () => (await import('./quarantine.ts')).runList)
  runs(
    command('admit <id>', 'take one for a handoff like any other', quarantine),
    async () => (await import('./quarantine.ts')).runAdmit,
  )
}

function addSession(command: MakeCommand, runs: Runs): void {
  const session = command('session', 'tokens that bind an agent on this laptop to reading, or to writing in handoffs')
  runs(
    command('create', 'make a token; it is shown once', session)
      .option('--scope <scope>', 'read or write')
      .option('--name <name>', 'what it is called; default session-1, session-2 …')
      .option('--expires <time>', 'how long it works, like 12h or 30d; default 30d'),
    async () => (await import('./session.ts')).runCreate,
  )
  runs(command('list', 'every token and when it was used', session), async () => (await import('./session.ts')).runList)
  runs(
    command('revoke <name>', 'end a token; whoever uses it is refused from the next call on', session),
    async () => (await import('./session.ts')).runRevoke,
  )
}

function addNode(command: MakeCommand, runs: Runs): void {
  runs(
    command('start', 'run the node; stays in front')
      .option('--detach', 'in the background; returns when it answers')
      .option('--repair', 'repair a damaged store first'),
    async () => (await import('./start.ts')).run,
  )
  runs(command('stop', 'end the node'), async () => (await import('./stop.ts')).run)
  runs(command('status', 'what runs, who is reachable, what waits'), async () => (await import('./status.ts')).run)
  runs(
    command('doctor', 'look for everything that can be wrong, and say what to do'),
    async () => (await import('./doctor.ts')).run,
  )
  runs(command('ping <name>', "measure the way to a teammate's laptops"), async () => (await import('./ping.ts')).run)
  runs(
    command('logs', 'what the node wrote down')
      .option('-n, --lines <count>', 'how many lines; default 50')
      .option('-f, --follow', 'wait for more; with --json one document a line'),
    async () => (await import('./logs.ts')).run,
  )
  runs(command('paths', 'where everything lies'), async () => (await import('./paths.ts')).run)
  runs(command('config', 'every setting and where it comes from'), async () => (await import('./config.ts')).run)
  const bootstrap = command('bootstrap', 'run a server that laptops behind routers meet at; stays in front')
    .option('--listen <address>', 'port, host:port or multiaddr, of TCP or WebSocket; may be repeated', repeated)
    .option(
      '--announce <multiaddr>',
      'how laptops reach it, such as /dns4/relay.example/tcp/4001; may be repeated',
      repeated,
    )
    .option('--stun-port <port>', 'UDP port of STUN; default 3478')
    .option('--no-mailbox', 'keep nothing for devices that are away')
    .option('--disk <bytes>', 'what the mailbox may hold, such as 500M; default 1G')
    .option('--metrics <address>', 'serve Prometheus metrics there, such as 127.0.0.1:9464')
    .option('--max-connections <count>', 'connections at once; default 2000')
    .option('--per-source <count>', 'connections and places at once of one IP address; default 256 and 128')
    .option('--log-level <level>', 'debug, info, warn or error; default info')
  runs(bootstrap, async () => (await import('./bootstrap.ts')).run)
  addBootstrapUse(command, runs, bootstrap)
  runs(
    command('mcp', 'the server for a coding agent, on standard input and output').option(
      '--token-file <file>',
      'a session token that binds it; or in the environment as RELAY_NODE_TOKEN',
    ),
    async () => (await import('./mcp.ts')).run,
  )
}

/** What the team's own use of bootstrap servers is told by. */
function addBootstrapUse(command: MakeCommand, runs: Runs, bootstrap: Program): void {
  runs(
    command('use <address...>', 'name bootstrap servers for the whole team; the owner alone can', bootstrap),
    async () => (await import('./bootstrap-use.ts')).runUse,
  )
  runs(
    command('list', 'the bootstrap servers of this laptop, and how they are reached', bootstrap),
    async () => (await import('./bootstrap-use.ts')).runList,
  )
  runs(
    command('drop <address>', 'stop using one, for the whole team', bootstrap),
    async () => (await import('./bootstrap-use.ts')).runDrop,
  )
}

function addHandoffs(command: MakeCommand, runs: Runs): void {
  const withArtifacts = (target: Program) =>
    target
      .option('--diff <file>', 'attach a diff; may be repeated', repeated)
      .option('--file <file>', 'attach a file; may be repeated', repeated)
      .option('--test <command>', 'attach a command that checks the work; may be repeated', repeated)
      .option('--link <url>', 'attach a link; may be repeated', repeated)
  const saying = (target: Program) =>
    target.option('--allow-secrets', 'send it although it holds what looks like a secret; you are told what and where')

  runs(
    command('inbox', 'open handoffs, newest first')
      .option('--all', 'ended ones too')
      .option('--in', 'only what came to you')
      .option('--out', 'only what you sent')
      .option('--shared', 'only what others shared with you to read'),
    async () => (await import('./inbox.ts')).run,
  )
  runs(
    command(
      'search [words...]',
      'find handoffs by words in all that you can read, ended ones too; without words the newest',
    )
      .option('--status <status>', 'pending, accepted, completed or cancelled; may be repeated', repeated)
      .option('--side <side>', 'in: sent to you; out: sent by you; reader: shared with you')
      .option('--with <name>', 'of a teammate who sent or received it')
      .option('--since <time>', 'newest activity then or later, like 7d, 2026-11-30 or 2026-11-30T12:00:00Z')
      .option('--until <time>', 'newest activity then or earlier')
      .option('--limit <count>', 'how many; default 20'),
    async () => (await import('./search.ts')).run,
  )
  runs(
    command('show <id>', 'read a handoff; this accepts nothing')
      .option('--artifact <id>', 'read one attachment instead')
      .option('--out <file>', 'write the attachment to a new file, byte for byte')
      .option('--record', 'read the continuity record instead')
      .option('--markdown', 'the record in the form that continue --record takes')
      .option('--revision <id>', 'an earlier revision of the record'),
    async () => (await import('./show.ts')).run,
  )
  runs(
    command('apply <id> <artifact>', 'see whether a diff fits your working copy; relay-node never applies one')
      .option('--check', 'look, and change nothing; exit code 0 if it fits, 1 if not')
      .option('--repo <dir>', 'a folder of the working copy; default: the current one'),
    async () => (await import('./apply.ts')).run,
  )
  runs(
    saying(
      withArtifacts(
        command('send <name>', 'hand work to a teammate')
          .option('--summary <text>', 'what it is about; - reads standard input')
          .option('--intent <intent>', 'inform, ask_question or propose_action; default: what the options say')
          .option('--question <text>', 'the question, with ask_question')
          .option('--action <file.json>', 'the proposed action, with propose_action')
          .option('--record <file>', 'the continuity record, JSON or Markdown; examples/record.md is one to begin with')
          .option('--parent <id>', 'the handoff that this one follows'),
      ),
    ),
    async () => (await import('./send.ts')).run,
  )
  runs(
    saying(
      withArtifacts(
        command('continue <id>', "write the next revision of a handoff's record")
          .option('--record <file>', 'the record, JSON or Markdown; what is not in it stays as it is')
          .option(
            '--expect <revision>',
            'the revision that you have read; of a forked record all, one by one',
            repeated,
          )
          .option('--note <text>', 'what changed')
          .option('--resolves <annotation>', 'an annotation that this settles; may be repeated', repeated),
      ),
    ),
    async () => (await import('./continue.ts')).run,
  )
  runs(
    command('accept <id>', 'take a handoff on').option('--expect <revision>', 'only if it still is at this revision'),
    async () => (await import('./accept.ts')).run,
  )
  runs(
    saying(
      withArtifacts(
        command('message <id> [text]', 'write in a handoff; without text, or with -, reads standard input'),
      ),
    ),
    async () => (await import('./message.ts')).run,
  )
  runs(
    saying(
      withArtifacts(
        command('complete <id>', 'say that a handoff is dealt with')
          .option('--result <text>', 'what came out of it; - reads standard input')
          .option('--outcome <outcome>', 'done, partial or declined; default done'),
      ),
    ),
    async () => (await import('./complete.ts')).run,
  )
  const exported = command(
    'export <id>',
    'write a handoff into a new folder: a page to read, its attachments, and the proof',
  )
  runs(
    exported.option('-o, --output <folder>', 'a folder that does not exist yet; default: the id of the handoff'),
    async () => (await import('./export.ts')).run,
  )
  runs(
    command('verify <folder>', 'check an export, offline: needs no node and no workspace', exported),
    async () => (await import('./export-verify.ts')).run,
  )
  runs(
    saying(command('cancel <id>', 'take back a handoff that nobody has accepted').option('--reason <text>', 'why')),
    async () => (await import('./cancel.ts')).run,
  )
  runs(
    command('share <id> <name>', 'let a third member read a handoff, all of it; this cannot be taken back'),
    async () => (await import('./share.ts')).run,
  )
  runs(
    saying(
      command('approve <id>', 'approve a proposed action; needs you at a terminal').option('--reason <text>', 'why'),
    ),
    async () => (await import('./verdict.ts')).runApprove,
  )
  runs(
    saying(
      command('reject <id>', 'reject a proposed action; needs you at a terminal').option('--reason <text>', 'why'),
    ),
    async () => (await import('./verdict.ts')).runReject,
  )
}

/** An option that is given once for each value. */
function repeated(value: string, before: string[] = []): string[] {
  return [...before, value]
}

const EXIT_CODES = `
Exit codes: 0 done, 1 refused or failed, 2 wrong use, 3 node not running.
All files lie in RELAY_NODE_HOME, if it is set; relay-node paths shows them.`
