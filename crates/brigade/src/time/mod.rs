mod timers;
