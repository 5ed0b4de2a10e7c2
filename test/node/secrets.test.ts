/** Real shapes of secrets are found, and what only looks like one is not. Samples are made from parts, so that this file holds none. */
import { createHash, generateKeyPairSync, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fc, test as propertyTest } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { encodeCode, phraseWords, textId } from '../../protocol/index.ts'
import { findSecrets } from '../../src/node/secrets.ts'
import { bob, dice, seedOf } from '../cast.ts'

const BASE62 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const draw = (letters: string, length: number): string =>
  Array.from(dice('a secret')(length), (byte) => letters[byte % letters.length]).join('')
const base62 = (length: number): string => draw(BASE62, length)
const hex = (length: number): string => draw('0123456789abcdef', length)
const join = (...parts: string[]): string => parts.join('')
const pem = (type: 'rsa' | 'ec' | 'ed25519'): string => {
  const format = { type: 'pkcs8', format: 'pem' } as const
  const pair =
    type === 'rsa'
      ? generateKeyPairSync('rsa', { modulusLength: 1024 })
      : type === 'ec'
        ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
        : generateKeyPairSync('ed25519')
  return pair.privateKey.export(format) as string
}
const secret = seedOf('secret').subarray(0, 16)
const inviter = { device: bob.device, addresses: ['/ip4/192.0.2.1/tcp/4001'], expires: 1_700_000_000_000 }

const jwt = (claims: object, alg = 'HS256'): string =>
  [{ alg, typ: 'JWT' }, claims, undefined]
    .map((part) => (part ? Buffer.from(JSON.stringify(part)).toString('base64url') : base62(43)))
    .join('.')
const basic = (user: string, password: string): string =>
  join('Authorization', ': Basic ', Buffer.from(`${user}:${password}`).toString('base64'))

const SECRETS: [name: string, rule: string, text: string][] = [
  ['AWS secret key', 'aws', join('aws_secret_access_', 'key = "', base62(40), '"')],
  ['AWS key id', 'aws-access-key-id', join('AK', 'IA', draw('ABCDEFGHIJKLMNOPQRSTUVWXYZ234567', 16))],
  ['GitHub token', 'github', join('gh', 'p_', base62(36))],
  ['GitHub fine-grained token', 'github', join('github', '_pat_', base62(82))],
  ['GitLab token', 'gitlab', join('glpat', '-', base62(20))],
  ['Slack bot token', 'slack', join('xo', 'xb-', draw('0123456789', 12), '-', draw('0123456789', 12), '-', base62(24))],
  [
    'Slack webhook',
    'slack',
    join('https://hooks.sl', 'ack.com/services/T', base62(8), '/B', base62(8), '/', base62(24)),
  ],
  ['npm token', 'npm', join('np', 'm_', base62(36))],
  ['JWT', 'jwt', jwt({ sub: 'deploy', scope: 'admin', exp: 1_900_000_000 })],
  ['JWT in a curl line', 'jwt', `curl -H "Authorization: Bearer ${jwt({ iss: 'ci' }, 'RS256')}" https://api.example`],
  ['Bearer header', 'authorization', join('Authorization', ': Bearer ', base62(40))],
  ['Bearer in code', 'authorization', join("{ 'authorization'", ": 'token ", hex(40), "' }")],
  ['Basic header', 'authorization', basic('deploy', base62(14))],
  ['npmrc', 'npm-auth', join('//registry.example/:_auth', 'Token=', randomUUID())],
  ['RSA key', 'privatekey', pem('rsa')],
  ['EC key', 'privatekey', pem('ec')],
  ['Ed25519 key', 'privatekey', pem('ed25519')],
  ['key in a diff', 'privatekey', pem('rsa').replaceAll(/^/gm, '+')],
  ['key that was cut off', 'privatekey', pem('rsa').slice(0, 300)],
  ['key in JSON, as of GCP', 'privatekey', JSON.stringify({ type: 'service_account', private_key: pem('rsa') })],
  [
    'encrypted key',
    'privatekey',
    join('-----BEGIN RSA PRIV', 'ATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0\n\n', base62(64)),
  ],
  ['Google API key', 'google-api-key', join('AI', 'za', base62(35))],
  ['Google client secret', 'google-client-secret', join('GOC', 'SPX-', base62(28))],
  ['Anthropic', 'anthropic', join('sk-', 'ant-api03-', base62(93), 'AA')],
  ['OpenAI', 'openai', join('sk-', 'proj-', base62(74), 'T3Blbk', 'FJ', base62(74))],
  ['Stripe', 'stripe', join('sk_', 'live_', base62(24))],
  ['SendGrid', 'sendgrid', join('SG', '.', base62(22), '.', base62(43))],
  ['Hugging Face', 'huggingface', join('h', 'f_', draw('ABCDEFabcdef', 34))],
  ['Docker', 'docker', join('dckr', '_pat_', base62(27))],
  ['DigitalOcean', 'digitalocean', join('do', 'p_v1_', hex(64))],
  ['PyPI', 'pypi', join('pypi', '-AgEIcHlwaS5vcmc', base62(60))],
  ['age', 'age-key', join('AGE-SECRET', '-KEY-1', draw('ACDEFGHJKLMNPQRSTUVWXYZ023456789', 58))],
  ['Azure', 'azure-storage', join('Account', 'Key=', base62(86), '==')],
  ['basic auth', 'basicauth', join('https://deploy:', base62(16), '@git.example.com/repo.git')],
  ['basic auth with signs', 'url-password', join('https://deploy:', 'x7!q$9_Lm%40k', '@git.example.com')],
  ['PostgreSQL', 'database-connection-string', join('postgres://app:', base62(12), '@db.internal:5432/app')],
  ['MongoDB', 'database-connection-string', join('mongodb+srv://app:', base62(12), '@c.mongodb.net/x')],
  ['Redis', 'url-password', join('redis://:', base62(20), '@cache.internal:6379')],
  ['AMQP', 'url-password', join('amqps://svc:', base62(20), '@mq.internal/vhost')],
  ['invite code', 'relay-invite', encodeCode({ secret })],
  ['standalone invite code', 'relay-invite', encodeCode({ secret, inviter })],
  ['invite in words', 'relay-words', phraseWords(secret).join(' ')],
  [
    'invite in numbered words',
    'relay-words',
    phraseWords(secret)
      .map((word, i) => `${i + 1}. ${word}`)
      .join('\n'),
  ],
  ['successor words', 'relay-words', phraseWords(seedOf('successor')).join(' ')],
  ['session token', 'relay-token', join('rn', 's_', base62(43))],
]

describe('a secret', () => {
  test.each(SECRETS)('is found: %s', async (_name, rule, text) => {
    for (const [before, after, line] of [
      ['', '', 1],
      ['Take it from here:\n\n', '\nand go on.', 3],
      ['токен:', '', 1],
    ] as const) {
      const found = await findSecrets([{ field: 'summary', text: `${before}${text}${after}` }])
      expect(found.map((one) => one.rule)).toContain(rule)
      for (const one of found) expect(one).toMatchObject({ field: 'summary', line })
    }
  })

  test('is found in the field that holds it, and at its line, wherever in a long text it stands', async () => {
    const [, rule, token] = SECRETS.find(([name]) => name === 'GitHub token') ?? ['', '', '']
    const filler = 'const rows = await db.rows()\n'
    for (const lines of [0, 2259, 2260, 2261, 6000]) {
      const texts = [
        { field: 'a', text: 'nothing' },
        { field: 'b', text: `${filler.repeat(lines)}// ${token}\n${filler.repeat(3000)}` },
        { field: 'c', text: '' },
      ]
      expect(await findSecrets(texts)).toEqual([{ field: 'b', line: lines + 1, rule }])
    }
  })

  propertyTest.prop([fc.nat(70_000)], { numRuns: 20 })('is found also where two pieces meet', async (at) => {
    const key = pem('ed25519')
    const found = await findSecrets([{ field: 'a', text: `${'x\n'.repeat(at)}${key}${'\ny'.repeat(40_000)}` }])
    expect(found).toContainEqual({ field: 'a', line: at + 1, rule: 'privatekey' })
  })

  test('cannot be covered by a comment that switches rules off', async () => {
    const [, rule, token] = SECRETS[2] ?? ['', '', '']
    const text = `// secretlint-disable\n${token} // secretlint-disable-line\n`
    expect(await findSecrets([{ field: 'a', text }])).toEqual([{ field: 'a', line: 2, rule }])
  })

  test('is told without a word of it, and many are told as a few', async () => {
    for (const [, , text] of SECRETS) {
      const told = JSON.stringify(await findSecrets([{ field: 'a', text }]))
      for (let i = 0; i + 12 <= text.length; i += 6) expect(told).not.toContain(text.slice(i, i + 12))
    }
    const many = Array.from({ length: 5000 }, () => join('gh', 'p_', base62(36))).join('\n')
    expect(await findSecrets([{ field: 'a', text: many }])).toHaveLength(8)
  })
})

const HARMLESS: [name: string, text: string][] = [
  ['a SHA-256', createHash('sha256').update('x').digest('hex')],
  ['a commit', hex(40)],
  ['a UUID', randomUUID()],
  [
    'an id of ours',
    (['thread', 'revision', 'message', 'artifact', 'annotation', 'entry'] as const)
      .map((sort) => textId(sort, hex(64)))
      .join(' '),
  ],
  ['a file in base64', dice('an image')(48 * 1024).reduce((text, byte) => text + String.fromCharCode(byte), '')],
  ['a lockfile', readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8')],
  ['an integrity', `sha512-${Buffer.from(dice('sri')(64)).toString('base64')}`],
  [
    'a public key',
    '-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----',
  ],
  ['an SSH public key', `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5${base62(44)} bob@laptop`],
  ['words about a key', 'Look for -----BEGIN PRIVATE KEY----- and -----END PRIVATE KEY----- in the file.'],
  [
    'a placeholder',
    [
      'postgres://user:password@localhost/db',
      'redis://:${REDIS_PASSWORD}@cache:6379',
      'https://user:<token>@git.example.com',
      'amqp://guest:guest@localhost',
    ].join('\n'),
  ],
  ['the JWT of the manuals', jwt({ sub: '1234567890', name: 'John Doe', iat: 1516239022 })],
  ['a JWT without a signature', `${jwt({ sub: 'a' }).split('.').slice(0, 2).join('.')}.`],
  ['an unsigned JWT', jwt({ sub: 'a' }, 'none')],
  [
    'an Authorization header without a token',
    [
      'Authorization: Bearer ${API_TOKEN}',
      'Authorization: Bearer YOUR_ACCESS_TOKEN_GOES_HERE',
      'Authorization: Bearer <token from step 2>',
      "headers.set('authorization', `Bearer ${session.accessToken}`)",
      'authorization: token abcdefghijklmnopqrstuvwxyz',
      basic('user', 'password'),
    ].join('\n'),
  ],
  ['a variable of npm', join('//registry.example/:_auth', 'Token=${NPM_TOKEN}')],
  ['the key id of the manuals', join('AKIAIOSFODNN7', 'EXAMPLE')],
  ['a multiaddr', '/ip4/192.0.2.1/tcp/4001/p2p/12D3KooWGzxzKZYveHXtpG6AsrUJBcWxHBFS2HsEoGTxrMLvKXtf'],
  ['an address with a port', 'https://ci.example:8443/run?user=a@b.example'],
  ['a name that ends like a token', 'turns_exceeded_because_somebody_wrote_too_many_of_them_at_once'],
  ['a code with a mistake', encodeCode({ secret }).replace(/.$/, (last) => (last === 'q' ? 'p' : 'q'))],
  ['prose', 'You can then use this system again when they have made that list and put their own name under each part.'],
  ['one word again and again', 'page '.repeat(48)],
  ['a few words again and again', 'open page list '.repeat(20)],
  ['a JSON web key that is public', JSON.stringify({ kty: 'OKP', crv: 'Ed25519', x: base62(43) })],
  ['code', 'const password = await ask(); const token = session.token; const secret_access_key = config.key'],
]

describe('what only looks like a secret', () => {
  test.each(HARMLESS)('is let through: %s', async (_name, text) => {
    expect(await findSecrets([{ field: 'a', text }])).toEqual([])
    const coded = Buffer.from(text).toString('base64')
    expect(await findSecrets([{ field: 'a', text: coded }])).toEqual([])
  })

  test('is let through also where it is the sources of this project', async () => {
    const files = [
      '../../README.md',
      '../../protocol/crypto.ts',
      '../../protocol/invite.ts',
      './secrets.test.ts',
      '../../src/node/secret-rules.ts',
    ]
    const texts = files.map((file) => ({ field: file, text: readFileSync(new URL(file, import.meta.url), 'utf8') }))
    expect(await findSecrets(texts)).toEqual([])
  })
})
