<#
.SYNOPSIS
Installs svc for the current user at ~\.svc\bin\svc.exe, or removes it. No administrator rights are needed.

.DESCRIPTION
The script verifies the Ed25519 signature of the checksums (with ssh-keygen from Windows' OpenSSH
client) and the SHA-256 of the download before it installs anything.

  irm <address of a release>/install.ps1 | iex
  .\install.ps1 -Version 0.1.0 -ModifyPath

.PARAMETER Version
The version to install; default: the newest.
.PARAMETER Prefix
Installs to <Prefix>\bin\svc.exe; default: ~\.svc.
.PARAMETER BaseUrl
The address of the releases; https, or http on 127.0.0.1.
.PARAMETER ModifyPath
Adds the directory to your PATH.
.PARAMETER NoSignature
Skips the signature if ssh-keygen is not installed.
.PARAMETER Uninstall
Stops the daemon and removes svc; sessions, memory and settings stay.
.PARAMETER Purge
With -Uninstall: also removes ~\.svc.
.PARAMETER DryRun
Shows what would be done.
#>
[CmdletBinding()]
param(
  [string] $Version,
  [string] $Prefix,
  [string] $BaseUrl = '@base-url@',
  [switch] $ModifyPath,
  [switch] $NoSignature,
  [switch] $Uninstall,
  [switch] $Purge,
  [switch] $DryRun
)

$ErrorActionPreference = 'Stop'
Set-StrictMode -Version 2.0

# Filled in by the release.
$SshKey = '@ssh-key@'

function Stop-Install([string] $Message, [string] $Hint = 'nothing was changed') {
  throw "$Message`n  $Hint"
}

function Get-Asset {
  # In a 32-bit PowerShell, this variable names the system's processor.
  $machine = $env:PROCESSOR_ARCHITEW6432
  if (-not $machine) { $machine = $env:PROCESSOR_ARCHITECTURE }
  # Windows on ARM runs x64 programs.
  if ($machine -notin 'AMD64', 'ARM64') { Stop-Install "svc does not support this processor: $machine" }
  'svc-x86_64-pc-windows-msvc.zip'
}

function Get-ReleaseAddress {
  if ($BaseUrl -eq '' -or $BaseUrl.StartsWith('@')) {
    Stop-Install 'this copy of the script has no release address' 'use the script from a release, or set -BaseUrl'
  }
  $uri = [Uri] $BaseUrl
  $local = $uri.Scheme -eq 'http' -and $uri.Host -in '127.0.0.1', 'localhost'
  if (($uri.Scheme -ne 'https' -and -not $local) -or $uri.UserInfo -ne '') {
    Stop-Install "-BaseUrl must be an https address without credentials, or http on 127.0.0.1, got $BaseUrl"
  }
  $base = $BaseUrl.TrimEnd('/')
  if ($Version) { "$base/download/v$($Version.TrimStart('v'))" } else { "$base/latest/download" }
}

function Save-File([string] $From, [string] $Name, [string] $Folder) {
  try {
    Invoke-WebRequest -UseBasicParsing -Uri "$From/$Name" -OutFile (Join-Path $Folder $Name)
  } catch {
    Stop-Install "cannot download $From/${Name}: $($_.Exception.Message)"
  }
}

function Test-Signature([string] $From, [string] $Folder) {
  $tool = Get-Command ssh-keygen -ErrorAction SilentlyContinue
  if (-not $tool) {
    if (-not $NoSignature) {
      Stop-Install 'cannot check the Ed25519 signature: ssh-keygen is missing' `
        'add the OpenSSH client in Settings, Optional features; or run this again with -NoSignature, which checks only the SHA-256 from the same server'
    }
    Write-Warning 'the signature is NOT checked; only the SHA-256, which comes from the same server'
    return
  }
  if ($SshKey.StartsWith('@')) {
    Stop-Install 'this copy of the script has no key' 'use the script from a release'
  }
  Save-File $From 'SHA256SUMS.sshsig' $Folder
  $allowed = Join-Path $Folder 'allowed'
  [IO.File]::WriteAllText($allowed, "svc $SshKey`n")
  # PowerShell's own pipes would change line ends.
  $sums = Join-Path $Folder 'SHA256SUMS'
  $signature = Join-Path $Folder 'SHA256SUMS.sshsig'
  $arguments = @('-Y', 'verify', '-f', "`"$allowed`"", '-I', 'svc', '-n', 'svc-release', '-s', "`"$signature`"")
  $verify = Start-Process -FilePath $tool.Source -ArgumentList $arguments -RedirectStandardInput $sums `
    -RedirectStandardOutput (Join-Path $Folder 'said') -NoNewWindow -Wait -PassThru
  if ($verify.ExitCode -ne 0) {
    Stop-Install "the signature of $From/SHA256SUMS is not valid for the key of svc's releases" `
      'nothing was changed; find out why before you install it in any other way'
  }
  Write-Host 'the signature is valid (checked by ssh-keygen)'
}

function Test-Checksum([string] $From, [string] $Asset, [string] $Folder) {
  $lines = [IO.File]::ReadAllLines((Join-Path $Folder 'SHA256SUMS'))
  $line = $lines | Where-Object { ($_ -split '  ', 2)[1] -ceq $Asset } | Select-Object -First 1
  if (-not $line) { Stop-Install "this release has no $Asset" "$From/SHA256SUMS lists its files" }
  $found = (Get-FileHash -Algorithm SHA256 -LiteralPath (Join-Path $Folder $Asset)).Hash
  if ($found -ne ($line -split '  ', 2)[0]) {
    Stop-Install "the SHA-256 of $From/$Asset is wrong" `
      'nothing was changed; the download is incomplete or was modified; try again'
  }
  Write-Host 'the SHA-256 is correct'
}

# Unpacks the program and checks that it runs, before it is installed.
function Expand-Program([string] $Asset, [string] $Folder) {
  Add-Type -AssemblyName System.IO.Compression.FileSystem
  $program = Join-Path $Folder 'svc.exe'
  $archive = [IO.Compression.ZipFile]::OpenRead((Join-Path $Folder $Asset))
  try {
    $entry = $archive.GetEntry('svc.exe')
    if (-not $entry) { Stop-Install "$Asset has no svc.exe" }
    [IO.Compression.ZipFileExtensions]::ExtractToFile($entry, $program)
  } finally {
    $archive.Dispose()
  }
  $said = & $program --version
  if ($LASTEXITCODE -ne 0) { Stop-Install 'the new svc does not run on this machine' }
  Write-Host "the new svc runs: $said"
  if ($Version -and -not "$said".StartsWith("svc $($Version.TrimStart('v'))+")) {
    Stop-Install "expected version $Version, got $said" 'nothing was changed; the release is faulty'
  }
  $program
}

# Windows can rename the file of a running program, but not replace it.
function Set-Program([string] $Fresh, [string] $Bin) {
  $target = Join-Path $Bin 'svc.exe'
  $previous = Join-Path $Bin 'svc.previous.exe'
  if (-not (Test-Path -LiteralPath $target)) {
    [IO.File]::Move($Fresh, $target)
    return
  }
  if (Test-Path -LiteralPath $previous) {
    [IO.File]::Move($previous, (Join-Path $Bin ".update-$([Guid]::NewGuid()).old"))
  }
  [IO.File]::Move($target, $previous)
  try {
    [IO.File]::Move($Fresh, $target)
  } catch {
    [IO.File]::Move($previous, $target)
    throw
  }
}

# Keeps %NAMES% in the registry's path unexpanded.
function Get-UserPath {
  $raw = (Get-Item -Path 'HKCU:\Environment').GetValue('Path', '', 'DoNotExpandEnvironmentNames')
  "$raw" -split ';' | Where-Object { $_ }
}

function Set-UserPath([string[]] $Folders) {
  Set-ItemProperty -Path 'HKCU:\Environment' -Name 'Path' -Type ExpandString -Value ($Folders -join ';')
  # This tells running programs that the environment has changed.
  [Environment]::SetEnvironmentVariable('SVC_INSTALL_CHANGED', $null, 'User')
}

function Install-Svc([string] $Bin) {
  $asset = Get-Asset
  $from = Get-ReleaseAddress
  if ($DryRun) {
    Write-Host "would download $from/$asset"
    Write-Host "would install it at $(Join-Path $Bin 'svc.exe')"
    if ($ModifyPath) { Write-Host "would add $Bin to your PATH" }
    return
  }
  [void] (New-Item -ItemType Directory -Force -Path $Bin)
  $folder = Join-Path $Bin ".update-$([Guid]::NewGuid())"
  [void] (New-Item -ItemType Directory -Path $folder)
  try {
    Write-Host "downloading $from/$asset"
    Save-File $from 'SHA256SUMS' $folder
    Test-Signature $from $folder
    Save-File $from $asset $folder
    Test-Checksum $from $asset $folder
    Set-Program (Expand-Program $asset $folder) $Bin
  } finally {
    Remove-Item -LiteralPath $folder -Recurse -Force -ErrorAction SilentlyContinue
  }
  Write-Host "installed svc at $(Join-Path $Bin 'svc.exe')"
  $folders = @(Get-UserPath)
  if ($ModifyPath -and $folders -notcontains $Bin) {
    Set-UserPath (@($Bin) + $folders)
    Write-Host "added $Bin to your PATH; open a new terminal to use it"
  } elseif ($folders -notcontains $Bin) {
    Write-Host "to run svc, add $Bin to your PATH, or run this again with -ModifyPath"
  }
}

function Stop-Daemon([string] $Program) {
  # Otherwise, output on standard error would end the script (PowerShell 5).
  $ErrorActionPreference = 'Continue'
  & $Program serve --uninstall *> $null
  & $Program serve --status *> $null
  if ($LASTEXITCODE -ne 0) { return }
  Write-Host 'stopping the daemon; turns get 30 s to reach a safe point'
  & $Program ctl call daemon.shutdown *> $null
  foreach ($try in 1..60) {
    Start-Sleep -Seconds 1
    & $Program serve --status *> $null
    if ($LASTEXITCODE -ne 0) { return }
  }
  Stop-Install 'the daemon did not stop' 'nothing was removed; svc serve --status shows its pid'
}

function Uninstall-Svc([string] $Bin, [string] $DataHome) {
  $program = Join-Path $Bin 'svc.exe'
  if ($DryRun) {
    Write-Host 'would stop the daemon and its background unit'
    Write-Host "would remove $program and svc.previous.exe"
    if ($Purge) { Write-Host "would remove $DataHome and everything in it" }
    return
  }
  if (Test-Path -LiteralPath $program) {
    Stop-Daemon $program
    Remove-Item -LiteralPath $program -Force
  } else {
    Write-Host "$program does not exist"
  }
  Get-ChildItem -LiteralPath $Bin -Force -ErrorAction SilentlyContinue |
    Where-Object { $_.Name -eq 'svc.previous.exe' -or $_.Name -like '.update-*' } |
    Remove-Item -Recurse -Force
  $folders = @(Get-UserPath)
  if ($folders -contains $Bin) { Set-UserPath @($folders | Where-Object { $_ -ne $Bin }) }
  if ($Purge) {
    if ($DataHome -eq $HOME) { Stop-Install "refusing to remove ${DataHome}: it is not a directory of svc" }
    Remove-Item -LiteralPath $DataHome -Recurse -Force
    Write-Host "removed $DataHome; journals stay in the .svc folders of the sessions' working directories"
  } elseif (Test-Path -LiteralPath $DataHome) {
    Write-Host "sessions, memory and settings stay in $DataHome; -Uninstall -Purge removes them"
  }
}

if ($Purge -and -not $Uninstall) { Stop-Install '-Purge requires -Uninstall' }
$dataHome = if ($env:SVC_HOME) { $env:SVC_HOME } else { Join-Path $HOME '.svc' }
if (-not $Prefix) { $Prefix = $dataHome }
$bin = Join-Path $Prefix 'bin'
if ($Uninstall) { Uninstall-Svc $bin $dataHome } else { Install-Svc $bin }
