/* See context.h. */
    .text
    .globl context_save
    .type context_save, @function
context_save:
    mov %rbx, 0(%rdi)
    mov %rbp, 8(%rdi)
    mov %r12, 16(%rdi)
    mov %r13, 24(%rdi)
    mov %r14, 32(%rdi)
    mov %r15, 40(%rdi)
    lea 8(%rsp), %rax
    mov %rax, 48(%rdi)
    mov (%rsp), %rax
    mov %rax, 56(%rdi)
    stmxcsr 64(%rdi)
    fnstcw 68(%rdi)
    xor %eax, %eax
    ret
    .size context_save, .-context_save

    .globl context_load
    .type context_load, @function
context_load:
    mov 0(%rdi), %rbx
    mov 8(%rdi), %rbp
    mov 16(%rdi), %r12
    mov 24(%rdi), %r13
    mov 32(%rdi), %r14
    mov 40(%rdi), %r15
    ldmxcsr 64(%rdi)
    fldcw 68(%rdi)
    mov 48(%rdi), %rsp
    mov %rsi, %rax
    jmp *56(%rdi)
    .size context_load, .-context_load

    .globl context_move
    .type context_move, @function
context_move:
    lea -8(%rsi), %rsp
    and $-16, %rsp
    sub $8, %rsp
    jmp *%rdi
    .size context_move, .-context_move

    .section .note.GNU-stack, "", @progbits
